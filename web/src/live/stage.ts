// The charts of the runs on screen, and the clock that shows them: at the speed that is wished, paused, or at a time.
import { Charted, type Panel } from "../chart";
import { h } from "../dom";
import { key } from "../figure";
import { CHARTS, legend, panel } from "../overtime";
import { states } from "../states";
import { ink, onTheme, scoped } from "../theme";
import type { Looks, Run } from "../types";
import { cut } from "./coming";

/** Simulated seconds per second; the last shows everything as it comes. */
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, Infinity];

export class Stage {
    readonly element: HTMLElement;
    private readonly place = h("div", { class: "charts" });
    private readonly keys = h("div", { class: "keys" });
    private readonly scrub = h("input", {
        type: "range",
        min: 0,
        max: 1000,
        step: 1,
        "aria-label": "Time shown",
    });
    private readonly clock = h("output", { class: "clock" });
    private readonly pause = h("button", { type: "button" }, "Pause");
    private readonly speed = h("input", {
        type: "range",
        min: 0,
        max: SPEEDS.length - 1,
        value: SPEEDS.length - 1,
        step: 1,
        "aria-label": "Speed",
    });
    private readonly pace = h("output", {});
    private readonly rescale = h("button", { type: "button" }, "Rescale");
    /** The run before, pale below the one on screen. */
    private ghost: Run | null = null;
    /** Ends of the axes: they stay, so that two runs can be told apart by eye, until a value is beyond. */
    private readonly tops = new Map<string, number>();
    private charted = new Map<string, Charted>();
    private shape = "";
    private runs: Run[] = [];
    private end = 1;
    /** How far there are points, and up to where they are shown. */
    private there = 0;
    private at = 0;
    private isPaused = false;
    private isLive = false;
    private isStale = false;
    private before = 0;
    private gone = () => {};

    /** `ask` hears of a time that was clicked in a chart of a finished run. */
    constructor(
        private readonly looks: Looks,
        private readonly ask: ((time: number) => void) | null,
    ) {
        this.pause.addEventListener("click", () => this.setPaused(!this.isPaused));
        this.speed.addEventListener("input", () => this.paced());
        this.rescale.title = "Axes stay as they are from run to run; this fits them to what is on screen";
        this.rescale.addEventListener("click", () => this.fit());
        this.scrub.addEventListener("input", () => {
            this.setPaused(true);
            this.at = (Number(this.scrub.value) / 1000) * this.end;
            this.isStale = true;
        });
        const controls = h(
            "div",
            { class: "player" },
            this.pause,
            h("label", {}, "Time ", this.scrub),
            this.clock,
            h("label", {}, "Speed ", this.speed),
            this.pace,
            this.rescale,
        );
        this.element = h("div", {}, this.keys, this.place, controls);
        this.paced();
        onTheme(() => {
            this.shape = "";
            this.isStale = true;
        });
        requestAnimationFrame((now) => this.tick(now));
    }

    /** Fit the axes to what is on screen. */
    fit(): void {
        this.tops.clear();
        this.isStale = true;
    }

    /** What is on screen stays there, pale, below the run that comes; null takes it away. */
    haunt(run: Run | null): void {
        this.ghost = run;
        this.isStale = true;
    }

    /** These runs, of which `there` seconds of `end` have come; `isNew` starts the clock again. */
    show(runs: Run[], end: number, there: number, isLive: boolean, isNew = false): void {
        Object.assign(this, { runs, end, there, isLive });
        if (isNew) {
            this.at = 0;
            this.setPaused(false);
        }
        if (!isLive && this.at >= end) this.setPaused(true);
        this.isStale = true;
    }

    private get rate(): number {
        return SPEEDS[Number(this.speed.value)];
    }

    private paced(): void {
        const text = this.rate === Infinity ? "as fast as it comes" : `${this.rate} s a second`;
        this.pace.textContent = text;
        this.speed.setAttribute("aria-valuetext", text);
    }

    private setPaused(isPaused: boolean): void {
        this.isPaused = isPaused;
        if (!isPaused && this.at >= this.end) this.at = 0;
        this.pause.textContent = isPaused ? "Play" : "Pause";
    }

    private tick(now: number): void {
        const step = (now - this.before) / 1000;
        this.before = now;
        if (!this.isPaused && this.at < this.there) {
            this.at = Math.min(this.there, this.at + step * this.rate);
            this.isStale = true;
            if (this.at >= this.end && !this.isLive) this.setPaused(true);
        }
        if (this.isStale) {
            this.isStale = false;
            this.draw();
        }
        requestAnimationFrame((later) => this.tick(later));
    }

    private draw(): void {
        this.scrub.value = String((1000 * this.at) / this.end);
        this.clock.textContent = `${this.at.toFixed(1)} of ${this.end} s`;
        const shown = this.runs.map((run) => cut(run, this.at, this.end));
        const panels = CHARTS.map((one) => this.panel(one, shown));
        const shape = JSON.stringify([
            this.isLive,
            panels.map((one) => one?.series.map((line) => [line.label, line.colour, line.row])),
        ]);
        if (shape === this.shape) panels.forEach((one) => one && this.charted.get(one.name)?.update(one));
        else this.rebuild(panels, shape);
    }

    /** A chart of the runs above that of the run before, on an axis that stays. */
    private panel(one: [string, string, string], shown: Run[]): Panel | null {
        const made = panel(one, shown, this.looks);
        if (!made) return null;
        const before = this.ghost && this.lastsAsLong(this.ghost) && panel(one, [this.ghost], this.looks);
        const lines = made.series.filter((line) => line.row === undefined);
        const most = Math.max(0, ...lines.flatMap((line) => line.y.map((value) => value ?? 0)));
        const top = this.tops.get(one[0]);
        const isBeyond = top !== undefined && most > top;
        // The first run draws its own axis, which is kept when it has ended.
        if (most > 0 && (isBeyond || (top === undefined && !this.isLive && this.at >= this.end)))
            this.tops.set(one[0], most * 1.08);
        made.top = this.tops.get(one[0]);
        for (const line of before ? before.series : [])
            if (line.isFlow || line.label === "queue")
                made.series.push({
                    ...line,
                    label: `${line.label}, run before`,
                    width: 1.2,
                    isBefore: true,
                    isFlow: true,
                });
        return made;
    }

    /** A run of another duration would share no axis of time. */
    private lastsAsLong(run: Run): boolean {
        const x = run.charts.rtt?.x ?? run.charts.goodput?.x ?? [];
        const last = x[x.length - 1] ?? 0;
        return last > 0.9 * this.end && last < 1.1 * this.end;
    }

    private rebuild(panels: (Panel | null)[], shape: string): void {
        this.shape = shape;
        const zoom = [...this.charted.values()].map((one) => one.zoom).find((one) => one) ?? null;
        const part = zoom && zoom.min < this.end ? zoom : null;
        // Whoever reads a chart by keyboard goes on in the one that takes its place.
        const read = [...this.charted].find(([, one]) => one.isRead)?.[0];
        this.charted.forEach((one) => one.end());
        const ask = this.isLive ? null : this.ask;
        this.charted = new Map(
            panels.flatMap((one) => (one ? [[one.name, new Charted(one, part, ask)] as const] : [])),
        );
        this.gone();
        const [bands, gone] = scoped(() => (this.isLive ? null : states(this.runs, this.runs.length > 1)));
        this.gone = gone;
        const made = [...this.charted.values()].map((one) => one.element);
        this.place.replaceChildren(...made, ...(bands ? [bands] : []));
        if (read) this.charted.get(read)?.focus();
        const before =
            this.ghost && this.lastsAsLong(this.ghost)
                ? [key("pale: the run before", `${ink()}70`, [], 1.2)]
                : [];
        this.keys.replaceChildren(...legend(this.runs, this.looks), ...before);
    }
}
