// The page of `dumbbell report`: its sections in their order. A live page takes the same parts.
import { h, plain, scrolled, type Child } from "./dom";
import { overtime } from "./overtime";
import { path } from "./path";
import { cdfs, repetitions, sweeps } from "./sweeps";
import { table } from "./table";
import { themeButton } from "./theme";
import type { Origin, Report, Scoreboard } from "./types";

export function page(report: Report): HTMLElement[] {
    const sections: [string, string, () => Child[]][] = [
        ["warnings", "Warnings", () => warnings(report)],
        ["path", "Path", () => report.paths.map(path)],
        ["figures", "Figures", () => (report.table ? [table(report)] : [])],
        ["changes", `From ${report.folders[0]} to ${report.folders[1]}`, () => changes(report)],
        ["time", "Over time", () => (report.series.runs.length ? [overtime(report)] : [])],
        [
            "sweep",
            "What varies",
            () => (report.sweeps.figures.length + report.sweeps.notes.length ? [sweeps(report)] : []),
        ],
        ["cdf", "Distributions", () => (report.cdfs.figures.length ? [cdfs(report)] : [])],
        ["repetitions", "Repetitions", () => (report.repeated.length ? [repetitions(report)] : [])],
        ["scoreboard", "Scoreboard", () => report.scoreboards.flatMap(scoreboard)],
        ["origin", "Where this comes from", () => report.origins.map(origin)],
    ];
    const made = sections.flatMap(([id, title, content]) => {
        const children = content();
        return children.length ? [{ id, title, element: section(id, title, children) }] : [];
    });
    const links = made.map(({ id, title }) => h("a", { href: `#${id}` }, title));
    return [
        header(report, links),
        ...made.map((one) => one.element),
        h("footer", {}, `Made by ${report.made}.`),
    ];
}

function section(id: string, title: string, children: Child[]): HTMLElement {
    return h(
        "section",
        { id, "aria-labelledby": `${id}-title` },
        h("h2", { id: `${id}-title` }, title),
        ...children,
    );
}

function header(report: Report, links: HTMLElement[]): HTMLElement {
    const verdict = h("div", { class: "verdict" }, ...report.verdict.map((sentence) => h("p", {}, sentence)));
    const nav = h("nav", { "aria-label": "Sections" }, ...links, themeButton());
    return h("header", {}, h("h1", {}, report.title), verdict, nav);
}

function warnings(report: Report): Child[] {
    if (!report.warnings.length) return [];
    const items = report.warnings.map(({ text, runs, count }) => {
        const more = count > runs.length ? ` and ${count - runs.length} more` : "";
        return h("li", {}, text, runs.length ? h("small", {}, ` (${runs.join("; ")}${more})`) : null);
    });
    return [h("ul", { class: "warnings" }, ...items)];
}

function changes(report: Report): Child[] {
    const found = report.changes;
    if (!found) return [];
    const rows = found.rows.map((row) => [
        row.figure,
        row.flow,
        row.case,
        row.before,
        row.after,
        row.change,
        row.clear ? "yes" : "",
    ]);
    const heads = ["figure", "flow", "case", ...report.folders, "change", "clear"];
    const counts = `Only in the first folder: ${found.only_before} rows; only in the second: ${found.only_after}.`;
    const cut = found.left_out
        ? ` ${found.left_out} more rows are left out; \`dumbbell show --diff\` prints all.`
        : "";
    return [
        rows.length ? scrolled("Changes", plain(found.caption, heads, rows)) : null,
        h("p", { class: "note" }, rows.length ? counts + cut : `No rows in common. ${counts}`),
    ];
}

function scoreboard(board: Scoreboard): Child[] {
    const heads = Object.keys(board.papers[0] ?? {});
    const provisional = board.provisional
        ? h(
              "p",
              { class: "note" },
              "Made with --fast: shorter runs, fewer repetitions. Every verdict is provisional.",
          )
        : null;
    const scaled = board.scaled ? h("p", { class: "note" }, board.scaled) : null;
    const counts = plain(
        "Claims of each paper",
        heads,
        board.papers.map((paper) => heads.map((head) => paper[head])),
    );
    const entries = board.entries.map((entry) => {
        const columns = ["claim", "verdict", "measured", "expected", "reason"];
        const rows = entry.claims.map((claim) => [
            ...[
                `${claim.id} ${claim.text}`,
                claim.verdict,
                claim.measured,
                claim.expected,
                claim.reason ?? "",
            ],
        ]);
        const picture = entry.picture ? h("p", {}, h("a", { href: entry.picture }, "Picture")) : null;
        const claims = scrolled(entry.id, plain(entry.id, columns, rows));
        const held = entry.claims.filter((claim) => claim.verdict === "holds").length;
        return h(
            "details",
            {},
            h("summary", {}, `${entry.id}: ${held} of ${rows.length} claims hold`),
            picture,
            claims,
        );
    });
    return [provisional, scaled, scrolled("Scoreboard", counts), ...entries];
}

function origin(one: Origin): HTMLElement {
    const facts = one.facts.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]);
    const links = one.links.map(([name, to]) => h("li", {}, h("a", { href: `${to}/` }, name)));
    const more = one.more ? h("p", { class: "note" }, `and ${one.more} more`) : null;
    const code = (text: string) => h("pre", { tabindex: 0 }, h("code", {}, text));
    return h(
        "article",
        {},
        h("h3", {}, one.name),
        h("dl", {}, ...facts),
        ...one.controllers.map((text) => h("p", {}, text)),
        h("p", {}, "To repeat it, with the scenario below in this file:"),
        code(one.command),
        h("details", {}, h("summary", {}, "Scenario"), code(one.scenario)),
        h("details", {}, h("summary", {}, `Data of ${one.links.length} runs`), h("ul", {}, ...links), more),
    );
}
