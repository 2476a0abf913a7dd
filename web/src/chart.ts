// Time series by uPlot: charts one below the other with one cursor and one zoom.
import * as Plot from "@observablehq/plot";
import uPlot from "uplot";
import { listen, markLine } from "./ask";
import { h, numbers } from "./dom";
import { drawn, key } from "./figure";
import { buttons } from "./save";
import { faint, ink, shown } from "./theme";
import type { Colour, Numbers } from "./types";

export interface Series {
    label: string;
    colour: Colour;
    dash: number[];
    x: number[];
    y: Numbers;
    width?: number;
    isFlow?: boolean;
    /** Drawn as separate marks in this row from the top, not as a line. */
    row?: number;
    /** Of the run before: drawn thin and pale. */
    isBefore?: boolean;
}
export interface Band {
    low: number;
    high: number;
    colour: Colour;
}
export interface Panel {
    name: string;
    unit: string;
    series: Series[];
    bands: Band[];
    note: string;
    /** Its own legend: what is none of a flow. */
    keys: Series[];
    /** The end of its axis; that of its values unless given. */
    top?: number;
    /** What the axis of time reaches over at least, so that charts beside each other have the same. */
    span?: Part;
}

/** Of the time, s. */
export interface Part {
    min: number;
    max: number;
}

const group = uPlot.sync("time");
const SIZE = { wide: 240, narrow: 200 };

/** All series at the union of their times; those that have no point there keep their line. */
function aligned({ series, span }: Panel): uPlot.AlignedData {
    const same = series.every((one) => one.x === series[0].x);
    if (same && !span) return [series[0].x, ...series.map((one) => one.y)] as uPlot.AlignedData;
    const tables = series.map((one) => [one.x, one.y] as uPlot.AlignedData);
    if (span) tables.push([[span.min, span.max]]);
    return uPlot.join(
        tables,
        tables.map(() => [1, 1]),
    );
}

function options(panel: Panel, top: () => number | undefined, width: number, high: number): uPlot.Options {
    const axis = {
        stroke: ink(),
        grid: { stroke: faint(), width: 1 },
        ticks: { stroke: faint(), width: 1 },
        font: "12px system-ui, sans-serif",
        labelFont: "12px system-ui, sans-serif",
    };
    return {
        width,
        height: high,
        legend: { show: false },
        scales: {
            x: { time: false },
            y: { range: (_, __, most) => [0, top() ?? (most || 1) * 1.05] },
            count: {},
        },
        axes: [
            { ...axis, label: "Time (s)", labelSize: 18, size: 34 },
            { ...axis, scale: "y", label: panel.unit, labelSize: 18, size: 52 },
        ],
        cursor: { sync: { key: group.key, setSeries: false }, drag: { x: true, y: false } },
        series: [
            { label: "Time (s)" },
            ...panel.series.map((one) => ({
                label: one.label,
                stroke: shown(one.colour) + (one.isBefore ? "70" : ""),
                width: one.width ?? 1.6,
                dash: one.dash.map((part) => part * 2),
                spanGaps: false,
                scale: one.row !== undefined ? "count" : "y",
                points: { show: false },
                paths: one.row !== undefined ? () => null : undefined,
            })),
        ],
        bands: panel.bands.map((band) => ({
            series: [band.high + 1, band.low + 1] as [number, number],
            fill: shown(band.colour) + "38",
        })),
        hooks: {
            draw: [
                (plot) => panel.series.forEach((one, i) => one.row !== undefined && ticks(plot, one, i + 1)),
                markLine,
            ],
        },
    };
}

/** Short strokes along the top where a count is not zero: a row for drops and one for marks, of each run. */
function ticks(plot: uPlot, one: Series, index: number): void {
    const { ctx, bbox } = plot;
    const row = one.row!;
    ctx.save();
    ctx.strokeStyle = shown(one.colour);
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    plot.data[0].forEach((t, i) => {
        const at = plot.valToPos(t, "x", true);
        if (!plot.data[index][i] || at < bbox.left || at > bbox.left + bbox.width) return;
        ctx.moveTo(at, bbox.top + row * 9 * devicePixelRatio);
        ctx.lineTo(at, bbox.top + (row * 9 + 7) * devicePixelRatio);
    });
    ctx.stroke();
    ctx.restore();
}

/** The same as one drawing, for saving. */
function asSvg(panel: Panel, width: number): SVGSVGElement {
    const lines = panel.series.filter((one) => one.row === undefined);
    const points = (one: Series) => one.x.map((t, i) => ({ t, value: one.y[i] ?? NaN, label: one.label }));
    return drawn(
        {
            width,
            height: 300,
            marginLeft: 56,
            x: { label: "Time (s)", ...(panel.span && { domain: [panel.span.min, panel.span.max] }) },
            y: { label: `${panel.name} (${panel.unit})`, zero: true, grid: true },
            color: {
                domain: lines.map((one) => one.label),
                range: lines.map((one) => shown(one.colour)),
                legend: false,
            },
            marks: [
                ...lines.map((one) =>
                    Plot.lineY(points(one), {
                        x: "t",
                        y: "value",
                        stroke: shown(one.colour),
                        strokeOpacity: one.isBefore ? 0.45 : 1,
                        strokeDasharray: one.dash.map((part) => part * 2).join(" "),
                        title: "label",
                    }),
                ),
                ...panel.bands.map((band) => {
                    const [low, high] = [panel.series[band.low], panel.series[band.high]];
                    const area = low.x.map((t, i) => ({ t, low: low.y[i] ?? NaN, high: high.y[i] ?? NaN }));
                    return Plot.areaY(area, {
                        x: "t",
                        y1: "low",
                        y2: "high",
                        fill: shown(band.colour),
                        fillOpacity: 0.2,
                    });
                }),
                ...panel.series
                    .filter((one) => one.row !== undefined)
                    .map((one) =>
                        Plot.tickX(
                            one.x.filter((_, i) => one.y[i]),
                            {
                                x: (t: number) => t,
                                stroke: shown(one.colour),
                                insetTop: 9 * one.row!,
                                insetBottom: 240 - 9 * one.row!,
                                title: () => one.label,
                            },
                        ),
                    ),
                ...lines
                    .filter((one) => one.width !== 0)
                    .map((one, i) =>
                        Plot.text([one.label], {
                            frameAnchor: "top-right",
                            dy: 12 * i,
                            fill: shown(one.colour),
                        }),
                    ),
            ],
        },
        panel.name,
    );
}

export class Charted {
    readonly element: HTMLElement;
    private readonly place = h("div", { class: "drawing" });
    private readonly value = h("p", { class: "readout", "aria-live": "off" });
    private readonly note = h("span", {});
    private plot: uPlot | null = null;
    /** Charts that nobody sees are not drawn again until somebody does. */
    private isSeen = true;
    private isStale = false;
    private isFilling = false;
    private readonly watching = [
        new ResizeObserver(() => this.resize()),
        new IntersectionObserver(([entry]) => this.seen(entry.isIntersecting)),
    ];

    /** `zoom`: the part of the time that is shown; null for all. `ask` hears of a time that was clicked. */
    constructor(
        private panel: Panel,
        public zoom: Part | null = null,
        private readonly ask: ((time: number) => void) | null = null,
    ) {
        const head = h("h3", {}, panel.name);
        const savable = {
            name: panel.name,
            svg: () => asSvg(this.panel, 900),
            heads: () => ["series", "time_s", `value (${this.panel.unit})`],
            rows: () => this.rows(),
        };
        this.place.tabIndex = 0;
        this.place.setAttribute("role", "application");
        this.place.setAttribute(
            "aria-label",
            `${panel.name}: left and right move the cursor, plus and minus zoom, 0 shows all` +
                (ask ? ", Enter asks why there" : ""),
        );
        this.place.addEventListener("keydown", (event) => this.onKey(event));
        const table = numbers(panel.name, savable.heads(), savable.rows);
        this.note.textContent = panel.note;
        this.element = h(
            "figure",
            {},
            h("div", { class: "head" }, head, buttons(savable)),
            this.place,
            h("figcaption", { class: "under" }, this.keys(), this.note),
            this.value,
            table,
        );
        this.watching.forEach((one) => one.observe(this.place));
    }

    private keys(): HTMLElement | null {
        if (!this.panel.keys.length) return null;
        const made = this.panel.keys.map((one) =>
            key(one.row !== undefined ? `${one.label}, at the top` : one.label, shown(one.colour), one.dash),
        );
        return h("div", { class: "keys" }, ...made);
    }

    private rows(): string[][] {
        return this.panel.series.flatMap((one) =>
            one.x.flatMap((t, i) => (one.y[i] == null ? [] : [[one.label, String(t), String(one.y[i])]])),
        );
    }

    private size(): { width: number; height: number } {
        const width = Math.max(260, this.place.clientWidth);
        return { width, height: width < 500 ? SIZE.narrow : SIZE.wide };
    }

    private resize(): void {
        if (!this.plot) this.draw();
        else if (this.plot.width !== this.size().width) this.plot.setSize(this.size());
    }

    draw(): void {
        this.plot?.destroy();
        const { width, height } = this.size();
        const made = options(this.panel, () => this.panel.top, width, height);
        made.hooks!.setCursor = [(plot) => this.read(plot)];
        made.hooks!.setScale = [(plot, name) => name === "x" && this.chosen(plot)];
        this.isFilling = true;
        this.plot = new uPlot(made, aligned(this.panel), this.place);
        group.sub(this.plot);
        if (this.ask) listen(this.plot, this.ask);
        if (this.zoom) this.plot.setScale("x", this.zoom);
        queueMicrotask(() => (this.isFilling = false));
    }

    /** The values below the cursor, in words. */
    private read(plot: uPlot): void {
        const at = plot.cursor.idx;
        if (at == null) return;
        const values = this.panel.series.flatMap((one, i) => {
            const value = plot.data[i + 1][at];
            return value == null || (one.row !== undefined && !value) ? [] : [`${one.label} ${value}`];
        });
        this.value.textContent = `${plot.data[0][at]} s: ${values.slice(0, 12).join(", ")}`;
    }

    private onKey(event: KeyboardEvent): void {
        // The focus may come before the browser tells that the chart has a size, or is in view.
        if (!this.plot) this.draw();
        this.refresh();
        const plot = this.plot!;
        const { min, max } = plot.scales.x as { min: number; max: number };
        const [first, last] = [plot.data[0][0], plot.data[0][plot.data[0].length - 1]];
        const middle = plot.cursor.left! >= 0 ? plot.posToVal(plot.cursor.left!, "x") : (min + max) / 2;
        const step = (max - min) / 100;
        const moved = { ArrowLeft: -step, ArrowRight: step }[event.key];
        const zoomed = { "+": 0.5, "-": 2, "0": Infinity }[event.key];
        const isAsked = event.key === "Enter" && !event.ctrlKey && !event.metaKey;
        if (moved) {
            const left = plot.valToPos(Math.min(Math.max(middle + moved, min), max), "x");
            // The third argument, which its types leave out, tells the other charts.
            const move = plot.setCursor as (at: object, fire: boolean, publish: boolean) => void;
            move({ left, top: plot.bbox.height / 4 }, true, true);
        } else if (zoomed) {
            const half = ((max - min) / 2) * zoomed;
            plot.setScale("x", { min: Math.max(first, middle - half), max: Math.min(last, middle + half) });
        } else if (this.ask && isAsked) this.ask(middle);
        else return;
        event.preventDefault();
    }

    /** Whether it has the focus. */
    get isRead(): boolean {
        return document.activeElement === this.place;
    }

    focus(): void {
        this.place.focus({ preventScroll: true });
    }

    /** The same lines with other points. */
    update(panel: Panel): void {
        this.panel = panel;
        if (this.note.textContent !== panel.note) this.note.textContent = panel.note;
        this.isStale = true;
        if (this.isSeen) this.refresh();
    }

    private seen(isSeen: boolean): void {
        this.isSeen = isSeen;
        if (isSeen) this.refresh();
    }

    private refresh(): void {
        if (!this.isStale) return;
        this.isStale = false;
        const { plot, zoom } = this;
        if (!plot) return;
        const data = aligned(this.panel);
        const [first, last] = [data[0][0], data[0][data[0].length - 1]];
        const isKept = zoom !== null && zoom.min < last;
        // Of a run that has just begun there is the end of the axis alone, and a range of nothing has no ticks.
        const all = first < last ? { min: first, max: last } : { min: 0, max: last || 1 };
        this.isFilling = true;
        plot.batch(() => {
            plot.setData(data, !isKept);
            plot.setScale("x", isKept ? zoom : all);
        });
        // uPlot tells of it in a microtask of its own, which comes first: nobody chose this.
        queueMicrotask(() => (this.isFilling = false));
        if (!isKept) this.zoom = null;
    }

    /** The reader, or another chart, chose what is shown. */
    private chosen(plot: uPlot): void {
        if (this.isFilling) return;
        const { min, max } = plot.scales.x as Part;
        const times = plot.data[0];
        this.zoom = min > times[0] || max < times[times.length - 1] ? { min, max } : null;
        followed(plot);
    }

    end(): void {
        this.watching.forEach((one) => one.disconnect());
        if (this.plot) {
            group.unsub(this.plot);
            this.plot.destroy();
            this.plot = null;
        }
    }
}

let isFollowing = false;

/** All charts show the same part of the time. */
function followed(plot: uPlot): void {
    if (isFollowing) return;
    isFollowing = true;
    const { min, max } = plot.scales.x as { min: number; max: number };
    for (const other of group.plots)
        if (other.scales.x.min !== min || other.scales.x.max !== max) other.setScale("x", { min, max });
    isFollowing = false;
}
