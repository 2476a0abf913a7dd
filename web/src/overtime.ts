// Time series: which runs are drawn, and their charts.
import { Charted, type Band, type Panel, type Series } from "./chart";
import { h } from "./dom";
import { key } from "./figure";
import { states } from "./states";
import { onTheme, shown } from "./theme";
import type { Chart, Looks, Numbers, Report, Run } from "./types";

/** Charts in their order: name, heading, unit. */
export const CHARTS: [string, string, string][] = [
    ["goodput", "Goodput", "Mbit/s"],
    ["rtt", "RTT", "ms"],
    ["queue", "Time in the bottleneck's queue", "ms"],
    ["throughput", "Throughput, retransmissions included", "Mbit/s"],
    ["cwnd", "Congestion window", "segments"],
    ["inflight", "In flight", "segments"],
];
/** A rate above the link's by this part is explained. */
const ABOVE = 1.02;
/** Runs that are drawn at first. */
const FIRST = 2;

export function overtime(report: Report): HTMLElement {
    const { runs, notes } = report.series;
    const place = h("div", { class: "charts" });
    const keys = h("div", { class: "keys" });
    let charted: Charted[] = [];
    let chosen = first(report);

    function draw(): void {
        charted.forEach((one) => one.end());
        const panels = CHARTS.flatMap((one) => panel(one, chosen, report.looks) ?? []);
        const times = panels.flatMap((one) => one.series.flatMap(({ x }) => [x[0], x[x.length - 1]]));
        const span = { min: Math.min(...times), max: Math.max(...times) };
        charted = panels.map((one) => new Charted({ ...one, span }));
        const bands = states(chosen, chosen.length > 1);
        const made = charted.map((one) => one.element);
        place.replaceChildren(...made, ...(bands ? [bands] : []));
        keys.replaceChildren(...legend(chosen, report.looks));
        if (!chosen.length) place.replaceChildren(h("p", {}, "Choose a run."));
    }
    onTheme(draw);
    draw();
    const said = notes.map((text) => h("p", { class: "note" }, text));
    return h(
        "div",
        {},
        ...said,
        picker(runs, chosen, (now) => ((chosen = now), draw())),
        keys,
        place,
    );
}

/** The runs that are drawn at first: one of each folder or back end, so that they are compared at once. */
export function first(report: Report): Run[] {
    const { runs } = report.series;
    if (report.folders.length > 1)
        return report.folders
            .flatMap((folder) => runs.find((run) => run.folder === folder) ?? [])
            .slice(0, 4);
    if (report.comparison) {
        const sides = report.comparison.sides.map((side) => `on ${side}`);
        return sides.flatMap((side) => runs.find((run) => run.label.split(", ").includes(side)) ?? []);
    }
    return runs.slice(0, runs.length <= FIRST ? FIRST : 1);
}

function picker(runs: Run[], chosen: Run[], changed: (now: Run[]) => void): HTMLElement | null {
    if (runs.length < 2) return null;
    const now = new Set(chosen);
    const boxes = runs.map((run) => {
        const box = h("input", { type: "checkbox", checked: now.has(run) });
        box.addEventListener("change", () => {
            if (box.checked) now.add(run);
            else now.delete(run);
            changed(runs.filter((one) => now.has(one)));
        });
        return h("label", {}, box, run.label);
    });
    const list = h("fieldset", { class: "runs" }, h("legend", {}, "Runs, one over the other"), ...boxes);
    return h("details", {}, h("summary", {}, `Choose among ${runs.length} runs`), list);
}

function dashOf(runs: Run[], run: number, line: number, looks: Looks): number[] {
    return looks.dashes[(runs.length > 1 ? run : line) % looks.dashes.length];
}

function name(runs: Run[], run: Run, label: string): string {
    return runs.length > 1 ? `${label} · ${run.label}` : label;
}

export function legend(runs: Run[], looks: Looks): HTMLElement[] {
    return runs.flatMap((run, r) =>
        run.lines.map((line, i) => {
            const band = line.band ? " (median, 25 to 75 %, 5 to 95 %)" : "";
            return key(name(runs, run, line.label) + band, shown(line.colour), dashOf(runs, r, i, looks));
        }),
    );
}

export function panel([id, title, unit]: [string, string, string], runs: Run[], looks: Looks): Panel | null {
    const series: Series[] = [];
    const bands: Band[] = [];
    const notes = new Set<string>();
    runs.forEach((run, r) => {
        const chart = run.charts[id];
        if (!chart) return;
        if (id === "queue") queue(chart, runs, r, series, looks);
        else lines(chart, runs, r, series, bands, looks);
        references(chart, id, name(runs, run, ""), series, looks);
        if (chart.bin) notes.add(`Means over ${chart.bin} s.`);
        if (id === "goodput" && isAbove(chart))
            notes.add(
                "Above the link's rate: bytes that waited for a retransmission reach the application together with it, or a token bucket let a burst through.",
            );
        if (chart.width > 1)
            notes.add(
                `Of every ${chart.width} points the smallest and the largest are drawn; the tables have all.`,
            );
    });
    if (!series.length) return null;
    const titled = runs.map((run) => run.charts[id]?.title).find(Boolean);
    return {
        name: titled?.replace(/ \(.*/, "") ?? title,
        unit,
        series,
        bands,
        note: [...notes].join(" "),
        keys: series.filter((one) => !one.isFlow && one.width !== 0),
    };
}

/** Whether a line is above the link's rate somewhere. */
function isAbove(chart: Chart): boolean {
    return chart.y.some((row) => row.some((value, i) => value! > ABOVE * (chart.rate?.[i] ?? Infinity)));
}

function lines(chart: Chart, runs: Run[], r: number, series: Series[], bands: Band[], looks: Looks): void {
    let at = 0;
    runs[r].lines.forEach((line, i) => {
        const common = { isFlow: true, colour: line.colour, dash: dashOf(runs, r, i, looks), x: chart.x };
        const label = name(runs, runs[r], line.label);
        if (!line.band || chart.bin) {
            const what = line.band ? `${label}, sum` : label;
            series.push({ ...common, label: what, y: chart.y[at++] });
            return;
        }
        const first = series.length;
        ["5 %", "25 %", "median", "75 %", "95 %"].forEach((which, k) =>
            series.push({
                ...common,
                dash: [],
                label: `${label}, ${which}`,
                y: chart.y[at++],
                width: k === 2 ? 1.6 : 0,
            }),
        );
        bands.push({ low: first, high: first + 4, colour: line.colour });
        bands.push({ low: first + 1, high: first + 3, colour: line.colour });
    });
}

function queue(chart: Chart, runs: Run[], r: number, series: Series[], looks: Looks): void {
    const run = runs[r];
    const dash = dashOf(runs, r, 0, looks);
    series.push({ label: name(runs, run, "queue"), colour: looks.queue, dash, x: chart.x, y: chart.y[0] });
    for (const [what, counts, colour] of [
        ["drops", chart.drops, looks.drops],
        ["marks", chart.marks, looks.marks],
    ] as const)
        if (counts?.some(Boolean)) {
            const row = series.filter((one) => one.row !== undefined).length;
            const label = name(runs, run, what);
            series.push({ label, colour, dash: [], x: chart.x, y: counts, row });
        }
}

/** What lines are held against: the link's rate, the BDP; once where it is the same for several runs. */
function references(chart: Chart, id: string, of: string, series: Series[], looks: Looks): void {
    const add = (what: string, y: Numbers) => {
        const same = series.find(
            (one) =>
                one.label.startsWith(what) && one.y.length === y.length && one.y.every((v, i) => v === y[i]),
        );
        if (same) same.label = what;
        else
            series.push({ label: what + of, colour: looks.reference, dash: [2, 2], x: chart.x, y, width: 1 });
    };
    if (id === "goodput" && chart.rate) add("link rate", chart.rate);
    for (const [label, value] of chart.bdp ?? [])
        add(
            label,
            chart.x.map(() => value),
        );
}
