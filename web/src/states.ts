// The states of each flow's controller, a row per flow, on the time axis of the charts.
import * as Plot from "@observablehq/plot";
import { figure, key, rowNames } from "./figure";
import { h } from "./dom";
import { shown } from "./theme";
import type { Colour, Run } from "./types";

interface Stay {
    row: string;
    state: string;
    from: number;
    to: number;
}

export function states(runs: Run[], several: boolean): HTMLElement | null {
    const colours = new Map<string, Colour>();
    const stays: Stay[] = [];
    let isWhole = true;
    for (const run of runs) {
        const names = run.state_names ?? [];
        names.forEach(([name, light, dark]) => colours.set(name, [light, dark]));
        for (const flow of run.states) {
            const row = several ? `${flow.label} · ${run.label}` : flow.label;
            isWhole &&= flow.whole;
            for (let i = 0; i < flow.stays.length; i += 2) {
                const to = flow.stays[i + 3] ?? flow.end;
                stays.push({ row, state: names[flow.stays[i]][0], from: flow.stays[i + 1], to });
            }
        }
    }
    if (!stays.length) return null;
    const rows = [...new Set(stays.map((one) => one.row))];
    const legend = () =>
        h("div", { class: "keys" }, ...[...colours].map(([name, colour]) => key(name, shown(colour), [], 9)));
    return figure({
        name: "States of the controllers",
        heads: ["flow", "state", "from_s", "to_s"],
        rows: () => stays.map((one) => [one.row, one.state, String(one.from), String(one.to)]),
        legend: legend(),
        caption: isWhole
            ? ""
            : "Many changes: each part of the run shows the state that lasted longest in it.",
        plot: (width) => {
            const { high, above, marginLeft, y, marks } = rowNames(rows, width, 30);
            return {
                width,
                height: 48 + rows.length * high,
                marginTop: 8,
                marginBottom: 40,
                marginLeft,
                x: { label: "Time (s)", grid: true, domain: [0, Math.max(...stays.map((one) => one.to))] },
                y,
                color: { domain: [...colours.keys()], range: [...colours.values()].map(shown) },
                marks: [
                    Plot.barX(stays, {
                        ...{ y: "row", x1: "from", x2: "to", fill: "state", title: "state" },
                        ...{ insetTop: 3 + above, insetBottom: 3 },
                    }),
                    ...marks,
                ],
            };
        },
    });
}
