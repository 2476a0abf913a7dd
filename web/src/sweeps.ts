// Figures of sweeps: lines and bars with intervals, heat maps; distributions.
import * as Plot from "@observablehq/plot";
import { choice, h } from "./dom";
import { figure, key } from "./figure";
import { faint, ink, shown } from "./theme";
import type { Cdf, Looks, Report, Vary, VaryForm } from "./types";

type Flat = {
    panel: string;
    label: string;
    at: number;
    tick: string;
    mean: number;
    low: number;
    high: number;
    n: number;
    colour: string;
    symbol: string;
};

/** A select of figures, and the one that is chosen. */
export function chosenOf<T>(
    label: string,
    all: T[],
    named: (one: T) => string,
    draw: (one: T) => Node,
): HTMLElement {
    const place = h("div", {});
    const show = (i: number) => place.replaceChildren(draw(all[i]));
    show(0);
    return h("div", {}, all.length > 1 ? choice(label, all.map(named), show) : null, place);
}

export function sweeps(report: Pick<Report, "sweeps" | "looks">): HTMLElement {
    const named = (one: Vary) =>
        `${one.folder ? `${one.folder}: ` : ""}${one.title}${one.unit ? ` (${one.unit})` : ""}`;
    const notes = report.sweeps.notes.map((text) => h("p", { class: "note" }, text));
    const drawn = (one: Vary) =>
        h(
            "div",
            {},
            ...one.forms.map((form) =>
                form.form === "heat" ? heat(one, form) : vary(one, form, report.looks),
            ),
        );
    return h(
        "div",
        {},
        ...notes,
        report.sweeps.figures.length ? chosenOf("Figure", report.sweeps.figures, named, drawn) : null,
    );
}

function title(one: Vary): string {
    return `${one.title}${one.unit ? ` (${one.unit})` : ""}`;
}

function flat(form: VaryForm): Flat[] {
    return form.panels.flatMap((panel) =>
        panel.rows!.flatMap((row) =>
            row.points.map(([place, mean, low, high, n, colour]) => ({
                ...{ panel: panel.title, label: row.label, at: form.x.at[place], tick: form.x.ticks[place] },
                ...{ mean, low, high, n, colour: shown(colour), symbol: row.symbol },
            })),
        ),
    );
}

function table(points: Flat[]): string[][] {
    return points.map((one) =>
        [one.panel, one.label, one.tick, one.mean, one.low, one.high, one.n].map(String),
    );
}

function vary(one: Vary, form: VaryForm, { dashes }: Looks): HTMLElement {
    const rows = new Map(form.panels.flatMap((panel) => panel.rows!).map((row) => [row.label, row]));
    const keys = [...rows.values()].map((row) => key(row.label, shown(row.colour), dashes[row.dash]));
    const isPanelled = form.panels.length > 1;
    return figure({
        name: `${one.title} against ${form.x.title}`,
        heads: ["panel", "line", form.x.title, title(one), "low", "high", "repetitions"],
        rows: () => table(flat(form)),
        legend: h("div", { class: "keys" }, ...keys),
        caption: one.caption,
        plot: (width) => {
            const points = flat(form);
            const facet = isPanelled ? { fy: "panel" } : {};
            const marks: Plot.Markish[] = [Plot.ruleY([0], { stroke: faint() }), ...numbered(form, width)];
            if (form.rate)
                marks.push(
                    Plot.ruleY([form.rate], { stroke: ink(), strokeDasharray: "4 3", strokeOpacity: 0.6 }),
                );
            if (isPanelled) marks.push(heads(form, (name) => name));
            if (form.form === "bars") marks.push(...bars(points, facet, [...rows.keys()]));
            else
                for (const [label, row] of rows)
                    marks.push(
                        ...line(
                            points.filter((point) => point.label === label),
                            facet,
                            shown(row.colour),
                            form.x.scattered ? null : dashes[row.dash],
                        ),
                    );
            return {
                width,
                height: Math.max(300, form.panels.length * 190),
                marginLeft: 56,
                marginTop: isPanelled ? 44 : 20,
                marginBottom: 44,
                marginRight: 24,
                x: axis(form, width),
                y: { label: title(one), grid: true, zero: true },
                fy: { axis: null, padding: 0.16, domain: form.panels.map((panel) => panel.title) },
                symbol: { legend: false, type: "identity" },
                marks,
            } as Plot.PlotOptions;
        },
    });
}

/** The title of each panel, above it. */
function heads(form: VaryForm, text: (name: string) => string): Plot.Markish {
    return Plot.text(
        form.panels.map((panel) => panel.title),
        {
            fy: (name: string) => name,
            text,
            frameAnchor: "top-left",
            dy: -14,
            fill: ink(),
            fontWeight: 600,
        },
    );
}

function axis(form: VaryForm, width: number): Plot.ScaleOptions {
    if (form.form === "bars" || !form.x.numeric)
        return { type: "band", domain: form.x.ticks, label: form.x.title, tickRotate: width < 500 ? -35 : 0 };
    const log = form.x.log && form.x.at.every((at) => at > 0);
    return { type: log ? "log" : form.x.log ? "sqrt" : "linear", axis: null, inset: 8 } as Plot.ScaleOptions;
}

/** The values of the sweep below an axis of numbers. Plot's own axis leaves some out where the scale is logarithmic. */
function numbered(form: VaryForm, width: number): Plot.Markish[] {
    if (form.form === "bars" || !form.x.numeric) return [];
    if (form.x.scattered) return [Plot.axisX({ label: form.x.title })];
    const text = new Map(form.x.at.map((at, i) => [at, form.x.ticks[i]]));
    const every = Math.ceil((form.x.at.length * 44) / width);
    const values = form.x.at.filter((_, i) => i % every === 0);
    return [Plot.axisX(values, { label: form.x.title, text: (at: number) => text.get(at) ?? String(at) })];
}

/** Points with their intervals, and a line through them unless `dash` is null. */
function line(points: Flat[], facet: object, colour: string, dash: number[] | null): Plot.Markish[] {
    const common = { x: "at", ...facet, stroke: colour };
    const through = (dash: number[]) =>
        Plot.lineY(points, {
            ...common,
            y: "mean",
            strokeWidth: 2,
            strokeDasharray: dash.map((part) => part * 2).join(" "),
        });
    return [
        Plot.ruleX(points, { ...common, y1: "low", y2: "high", strokeWidth: 1.2 }),
        ...(dash ? [through(dash)] : []),
        Plot.dot(points, {
            x: "at",
            y: "mean",
            ...facet,
            fill: colour,
            // Symbols of strokes, such as a cross, have nothing to fill.
            stroke: colour,
            symbol: (one: Flat) => one.symbol,
            r: 4,
            title: said,
        } as Plot.DotOptions),
    ];
}

function bars(points: Flat[], facet: object, labels: string[]): Plot.Markish[] {
    // Bars of a category stand beside each other: each kind that has one there takes its part of the place.
    const here = (one: Flat, label: string) =>
        points.some((two) => two.panel === one.panel && two.tick === one.tick && two.label === label);
    const place = (one: Flat) => labels.filter((label) => here(one, label)).indexOf(one.label);
    const count = (one: Flat) => labels.filter((label) => here(one, label)).length;
    const wide = 22 / Math.max(labels.length, 1);
    const slots = new Map<number, Flat[]>();
    for (const one of points) {
        const shift = (place(one) - (count(one) - 1) / 2) * (wide + 2);
        slots.set(shift, [...(slots.get(shift) ?? []), one]);
    }
    return [...slots].flatMap(([shift, mine]) => {
        const inset = { insetLeft: 0, insetRight: 0, dx: 0 };
        const part = { ...inset, ...facet, x: "tick" };
        return [
            Plot.ruleX(mine, {
                ...part,
                y1: 0,
                y2: "mean",
                stroke: "colour",
                strokeWidth: wide + 6,
                dx: shift * 1.6,
                strokeLinecap: "butt",
                title: said,
            }),
            Plot.ruleX(mine, {
                ...part,
                y1: "low",
                y2: "high",
                stroke: ink(),
                strokeWidth: 1,
                dx: shift * 1.6,
            }),
        ];
    });
}

function said(one: Flat): string {
    const interval = one.n > 1 ? ` (${one.low} to ${one.high}, ${one.n} repetitions)` : "";
    return `${one.label}, ${one.tick}: ${one.mean}${interval}`;
}

function heat(one: Vary, form: VaryForm): HTMLElement {
    const cells = form.panels.flatMap((panel) =>
        panel.cells!.map(([x, y, mean, low, high, n]) => ({
            ...{ panel: panel.title, x: form.x.ticks[x], y: form.y!.ticks[y], mean, low, high, n },
        })),
    );
    const largest = Math.max(...cells.map((cell) => cell.mean)) || 1;
    const smallest = Math.min(0, ...cells.map((cell) => cell.mean));
    return figure({
        name: `${one.title}: ${form.y!.title} against ${form.x.title}`,
        heads: ["panel", form.x.title, form.y!.title, title(one), "low", "high", "repetitions"],
        rows: () =>
            cells.map((cell) =>
                [cell.panel, cell.x, cell.y, cell.mean, cell.low, cell.high, cell.n].map(String),
            ),
        caption: form.caption ?? one.caption,
        plot: (width) => ({
            width,
            height: form.panels.length * (form.y!.ticks.length * 34 + 40) + 60,
            marginLeft: 40 + 7.5 * Math.max(...form.y!.ticks.map((tick) => tick.length)),
            marginBottom: 44,
            marginTop: 30,
            x: { type: "band", domain: form.x.ticks, label: form.x.title, tickRotate: width < 500 ? -35 : 0 },
            y: { type: "band", domain: [...form.y!.ticks].reverse(), label: form.y!.title },
            fy: { padding: 0.12, axis: null, domain: form.panels.map((panel) => panel.title) },
            color: { scheme: "viridis", domain: [smallest, largest] },
            marks: [
                Plot.cell(cells, { x: "x", y: "y", fy: "panel", fill: "mean", inset: 0.5 }),
                Plot.text(cells, {
                    x: "x",
                    y: "y",
                    fy: "panel",
                    text: (cell) =>
                        cell.mean.toFixed(cell.n > 1 ? one.digits || 1 : one.digits) +
                        (cell.n > 1 ? `\n±${((cell.high - cell.low) / 2).toFixed(one.digits || 1)}` : ""),
                    fill: (cell) =>
                        (cell.mean - smallest) / (largest - smallest || 1) < 0.6 ? "white" : "black",
                    fontSize: width < 500 ? 9 : 12,
                }),
                heads(form, (name) => (name.startsWith("the ") ? `${one.title} of ${name}` : name)),
            ],
        }),
    });
}

const FACETS = 12;

export function cdfs(report: Report): HTMLElement {
    const notes = report.cdfs.notes.map((text) => h("p", { class: "note" }, text));
    const pages = report.cdfs.figures.flatMap((one) =>
        Array.from({ length: Math.ceil(one.panels.length / FACETS) }, (_, i) => ({ one, first: i * FACETS })),
    );
    const named = ({ one, first }: { one: Cdf; first: number }) => {
        const last = Math.min(first + FACETS, one.panels.length);
        return one.panels.length > FACETS ? `${one.title}, combinations ${first + 1} to ${last}` : one.title;
    };
    const draw = ({ one, first }: { one: Cdf; first: number }) => cdf(one, first, report.looks);
    return h("div", {}, ...notes, chosenOf("Distribution of", pages, named, draw));
}

function cdf(one: Cdf, first: number, { dashes }: Looks): HTMLElement {
    const panels = one.panels.slice(first, first + FACETS);
    const lines = panels.flatMap((panel) => panel.lines.map((line) => ({ ...line, panel: panel.title })));
    const kinds = new Map(lines.map((line) => [line.label, line]));
    return figure({
        name: `Distribution of: ${one.title}`,
        heads: ["combination", "flows", "percentile", one.title],
        rows: () =>
            lines.flatMap((line) =>
                line.at.map((value, i) => [line.panel, line.label, String(i), String(value)]),
            ),
        legend: h(
            "div",
            { class: "keys" },
            ...[...kinds.values()].map((line) => key(line.label, shown(line.colour), dashes[line.dash])),
        ),
        caption: "Cumulative distribution through the percentiles 0 to 100; repetitions together.",
        plot: (width) => {
            const columns = width < 500 || panels.length === 1 ? 1 : panels.length < 5 ? 2 : 3;
            const place = new Map(panels.map((panel, i) => [panel.title, i]));
            const fx = (line: { panel: string }) => place.get(line.panel)! % columns;
            const fy = (line: { panel: string }) => Math.floor(place.get(line.panel)! / columns);
            return {
                width,
                height: Math.ceil(panels.length / columns) * (panels.length === 1 ? 300 : 190) + 74,
                marginLeft: 44,
                marginTop: 44,
                marginBottom: 40,
                x: { label: one.title, zero: true, grid: true },
                y: { label: "Share", domain: [0, 1], grid: true },
                fx: { axis: null },
                fy: { axis: null, padding: 0.2 },
                marks: [
                    ...lines.map((line) =>
                        Plot.line(
                            line.at.map((value, i) => ({ value, share: i / 100, panel: line.panel })),
                            {
                                ...{
                                    x: "value",
                                    y: "share",
                                    fx,
                                    fy,
                                    stroke: shown(line.colour),
                                    strokeWidth: 1.8,
                                },
                                strokeDasharray: dashes[line.dash].map((part) => part * 2).join(" "),
                            },
                        ),
                    ),
                    Plot.text(
                        panels.map((panel) => ({ panel: panel.title })),
                        {
                            ...{
                                fx,
                                fy,
                                text: "panel",
                                frameAnchor: "top-left",
                                dy: -14,
                                fill: ink(),
                                fontWeight: 600,
                            },
                        },
                    ),
                ],
            } as Plot.PlotOptions;
        },
    });
}
