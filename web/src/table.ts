// The general table: sorted by any column, columns chosen, a bar under the numbers of a column that differ.
import { h, scrolled } from "./dom";
import { csv } from "./save";
import { onTheme, shown } from "./theme";
import type { Column, Report, Table, TableRow } from "./types";

interface Sorting {
    by: string;
    down: boolean;
}

export function table(report: Report): HTMLElement {
    const data = report.table!;
    const chosen = new Set(data.columns.filter((one) => one.shown).map((one) => one.name));
    const sorting: Sorting = { by: "", down: false };
    const place = h("div", {});
    const draw = () =>
        place.replaceChildren(scrolled("Figures of all runs", drawn(data, chosen, sorting, again)));
    function again(by: string): void {
        sorting.down = sorting.by === by ? !sorting.down : data.columns.some((one) => one.name === by);
        sorting.by = by;
        draw();
        place.querySelector<HTMLButtonElement>(`button[data-by="${CSS.escape(by)}"]`)?.focus();
    }
    onTheme(draw);
    draw();
    const hint =
        "Click a heading to sort. Bars are parts of the largest value of the column, those of shares parts of 1.";
    const notes = [hint, ...data.notes].map((text) => h("p", { class: "note" }, text));
    return h("div", {}, ...notes, columns(data, chosen, draw), place, save(data, report.title));
}

function columns(data: Table, chosen: Set<string>, draw: () => void): HTMLElement {
    const boxes = data.columns.map((one) => {
        const box = h("input", { type: "checkbox", checked: chosen.has(one.name) });
        box.addEventListener("change", () => {
            if (box.checked) chosen.add(one.name);
            else chosen.delete(one.name);
            draw();
        });
        return h("label", { title: one.long }, box, head(one));
    });
    return h(
        "details",
        {},
        h("summary", {}, "Columns"),
        h("fieldset", { class: "runs" }, h("legend", {}, "Shown"), ...boxes),
    );
}

function head(one: Column): string {
    return one.unit ? `${one.title}, ${one.unit}` : one.title;
}

function value(row: TableRow, by: string, data: Table): number | string {
    const key = data.keys.indexOf(by);
    if (by === "flow") return row.flow;
    if (key >= 0) return row.vary[key];
    const found = row.cells[data.columns.findIndex((one) => one.name === by)];
    return found ? (found[1] ?? Infinity) : -Infinity;
}

function sorted(data: Table, { by, down }: Sorting): TableRow[] {
    if (!by) return data.rows;
    const order = (a: TableRow, b: TableRow) => {
        const [x, y] = [value(a, by, data), value(b, by, data)];
        const sign =
            typeof x === "number" ? x - (y as number) : x.localeCompare(String(y), "en", { numeric: true });
        return down ? -sign : sign;
    };
    return [...data.rows].sort(order);
}

function drawn(data: Table, chosen: Set<string>, sorting: Sorting, sort: (by: string) => void): HTMLElement {
    const shownColumns = data.columns.map((one, i) => ({ one, i })).filter(({ one }) => chosen.has(one.name));
    const isNamed = new Set(data.rows.map((row) => row.scenario)).size > 1;
    const heading = (by: string, text: string, hint = "", kind = "") => {
        const order = sorting.by === by ? (sorting.down ? "descending" : "ascending") : "none";
        const sign = { none: "", ascending: " ▲", descending: " ▼" }[order];
        const button = h(
            "button",
            { type: "button", "data-by": by, title: hint, onclick: () => sort(by) },
            text + sign,
        );
        return h("th", { scope: "col", class: kind, "aria-sort": order }, button);
    };
    const heads = [
        ...(isNamed ? [h("th", { scope: "col", class: "word" }, "scenario")] : []),
        ...data.keys.map((key) => heading(key, key.replace(/^path\./, ""), "", "word")),
        heading("flow", "flow", "", "word"),
        ...(data.repeated ? [h("th", { scope: "col" }, "n")] : []),
        ...shownColumns.map(({ one }) => heading(one.name, head(one), one.long)),
    ];
    const most = data.columns.map(
        (one, i) => one.most ?? Math.max(...data.rows.map((row) => row.cells[i]?.[1] ?? 0)),
    );
    const rows = sorted(data, sorting).map((row) => {
        const cells = shownColumns.map(({ one, i }) => cell(row, i, one.bars ? most[i] : null));
        const repetitions = data.repeated ? h("td", {}, String(row.n)) : null;
        const scenario = isNamed ? h("td", { class: "word" }, row.scenario) : null;
        const keys = row.vary.map((text) => h("td", { class: "word" }, text));
        return h("tr", {}, scenario, ...keys, h("th", { scope: "row" }, row.flow), repetitions, ...cells);
    });
    return h("table", { class: "general" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
}

/** A figure, with a bar unless `most` is null. */
function cell(row: TableRow, i: number, most: number | null): HTMLElement {
    const found = row.cells[i];
    if (!found || most === null) return h("td", {}, found?.[0] ?? "");
    const made = h("td", { class: "bar" }, h("span", {}, found[0]));
    made.style.setProperty("--part", String(Math.max(0, Math.min(1, (found[1] ?? most) / (most || 1)))));
    made.style.setProperty("--colour", shown(row.colour));
    return made;
}

function save(data: Table, title: string): HTMLElement {
    const heads = [...["scenario", ...data.keys, "flow", "n"], ...data.columns.map((one) => one.name)];
    const rows = data.rows.map((row) => [
        ...[row.scenario, ...row.vary, row.flow, String(row.n)],
        ...row.cells.map((one) => (one ? String(one[1] ?? one[0]) : "")),
    ]);
    const text = () => csv({ name: title, heads: () => heads, rows: () => rows, svg: () => null as never });
    const write = () => {
        const link = h("a", {
            href: URL.createObjectURL(new Blob([text()], { type: "text/csv" })),
            download: "figures.csv",
        });
        link.click();
    };
    return h("div", { class: "save" }, h("button", { type: "button", onclick: write }, "All figures as CSV"));
}
