// A time that is asked about: the click in a chart, and the line that marks it in all charts.
import uPlot from "uplot";
import { ink } from "./theme";

/** A click that moves further is a drag, and one that another follows within this time is half of a double click. */
const CLICK = { pixels: 4, ms: 250 };

/** The time that is marked in all charts. */
let marked: number | null = null;

/** Marks a time in all charts; null takes the mark away. */
export function mark(time: number | null): void {
    marked = time;
    uPlot.sync("time").plots.forEach((plot) => plot.redraw(false, false));
}

/** Draws the line at the time that is marked. */
export function markLine({ ctx, bbox, valToPos }: uPlot): void {
    const at = marked === null ? NaN : valToPos(marked, "x", true);
    if (!(at >= bbox.left && at <= bbox.left + bbox.width)) return;
    ctx.save();
    ctx.strokeStyle = ink();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
}

/** Tells of times that are clicked, and not of drags and double clicks, which zoom. */
export function listen(plot: uPlot, ask: (time: number) => void): void {
    let pressed = 0;
    let waiting = 0;
    plot.over.addEventListener("mousedown", (event) => (pressed = event.clientX));
    plot.over.addEventListener("click", (event) => {
        if (Math.abs(event.clientX - pressed) > CLICK.pixels) return;
        const time = plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x");
        clearTimeout(waiting);
        if (event.detail < 2) waiting = window.setTimeout(() => ask(time), CLICK.ms);
    });
}
