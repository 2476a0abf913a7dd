// Every repetition of a figure beside their mean and its interval.
import * as Plot from "@observablehq/plot";
import { figure, rowNames } from "./figure";
import { chosenOf } from "./sweeps";
import { ink, paper, shown } from "./theme";
import type { RepeatedRow, Report } from "./types";

export function repetitions(report: Report): HTMLElement {
    const named = (one: { title: string }) => one.title;
    return chosenOf("Figure", report.repeated, named, (one) => dots(one.title, one.rows));
}

function dots(name: string, rows: RepeatedRow[]): HTMLElement {
    const label = (row: RepeatedRow) => [row.case, row.flow].filter(Boolean).join(" · ");
    const every = rows.flatMap((row) =>
        row.values.map((value) => ({ label: label(row), value, colour: shown(row.colour) })),
    );
    const wide = rows.filter((row) => row.interval !== null);
    return figure({
        name: `Every repetition: ${name}`,
        heads: ["combination", "mean ± 95 % interval", "repetitions"],
        rows: () => rows.map((row) => [label(row), row.text, row.values.join(", ")]),
        caption:
            "Dots are repetitions, the stroke is their mean, the line its 95 % interval (Student's t), cut at what is possible.",
        plot: (width) => {
            const { high, above, marginLeft, y, marks } = rowNames(rows.map(label), width, 22);
            const dy = above / 2;
            return {
                width,
                height: rows.length * high + 48,
                marginTop: 8,
                marginBottom: 40,
                marginLeft,
                x: { label: name, grid: true, ticks: width / 90 },
                y,
                marks: [
                    ...marks,
                    Plot.ruleY(wide, {
                        y: label,
                        dy,
                        x1: (row) => row.interval![0],
                        x2: (row) => row.interval![1],
                        stroke: ink(),
                    }),
                    Plot.tickX(rows, {
                        ...{ y: label, x: "mean", stroke: ink(), strokeWidth: 2 },
                        ...{ insetTop: 3 + above, insetBottom: 3 },
                    }),
                    Plot.dot(every, {
                        y: "label",
                        dy,
                        x: "value",
                        fill: "colour",
                        r: 3.2,
                        stroke: paper(),
                        strokeWidth: 0.6,
                    }),
                ],
            };
        },
    });
}
