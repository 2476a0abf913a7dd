// The page of `dumbbell report`: its sections in their order. A live page takes the same parts.
import { h, plain, scrolled, type Child } from "./dom";
import { first, overtime } from "./overtime";
import { path } from "./path";
import { repetitions } from "./repetitions";
import { cdfs, sweeps } from "./sweeps";
import { table } from "./table";
import { themeButton } from "./theme";
import type { Change, Origin, Report, Scoreboard } from "./types";

/** A section: its name in addresses, its title, what it holds, and whether it is folded at first. */
interface Section {
    id: string;
    title: string;
    content: () => Child[];
    folded?: boolean;
}

/** What each kind of report begins with; the rest follows in the order below. */
const FIRST: Record<Report["kind"], string[]> = {
    run: ["why", "time", "figures"],
    sweep: ["sweep", "why", "figures"],
    comparison: ["comparison", "sweep", "figures"],
    difference: ["changes", "sweep", "figures"],
};

export function page(report: Report): HTMLElement[] {
    const { kind, series, sweeps: varied } = report;
    const one = kind === "run" ? "" : ofRuns(report);
    const sections: Section[] = [
        { id: "comparison", title: "Agreement", content: () => comparison(report) },
        {
            id: "changes",
            title: `From ${report.folders[0]} to ${report.folders[1]}`,
            content: () => changes(report),
        },
        { id: "why", title: "Why", content: () => why(report) },
        { id: "scoreboard", title: "Scoreboard", content: () => report.scoreboards.flatMap(scoreboard) },
        {
            id: "sweep",
            title: "What varies",
            content: () => (varied.figures.length + varied.notes.length ? [sweeps(report)] : []),
        },
        {
            id: "figures",
            title: "Figures",
            content: () => (report.table ? [...told(report), table(report)] : []),
        },
        {
            id: "repetitions",
            title: "Repetitions",
            content: () => (report.repeated.length ? [repetitions(report)] : []),
        },
        {
            id: "cdf",
            title: "Distributions",
            content: () => (report.cdfs.figures.length ? [cdfs(report)] : []),
        },
        { id: "path", title: "Path", content: () => report.paths.map((each) => path(each, report.looks)) },
        {
            id: "time",
            title: `Over time${one && `: ${one}`}`,
            content: () => (series.runs.length ? [overtime(report)] : []),
            folded: kind !== "run",
        },
        { id: "origin", title: "Where this comes from", content: () => report.origins.map(origin) },
    ];
    const order = FIRST[kind];
    const place = ({ id }: Section) => (order.includes(id) ? order.indexOf(id) : order.length);
    const made = sections
        .sort((a, b) => place(a) - place(b))
        .flatMap((one) => {
            const element = one.folded ? later(one) : whole(one);
            return element ? [{ ...one, element }] : [];
        });
    const links = made.map(({ id, title }) => h("a", { href: `#${id}` }, title.replace(/:.*/, "")));
    addEventListener("hashchange", unfold);
    return [
        header(report, links),
        ...made.map((one) => one.element),
        h("footer", {}, `Made by ${report.made}.`),
    ];
}

function told({ told }: Report): Child[] {
    return told.map((sentence) => h("p", { class: "note" }, sentence));
}

/** Why flows got what they got, a paragraph for each combination. */
function why({ why }: Report): Child[] {
    const cases = why.cases.flatMap((one) => [
        h("p", {}, one.case ? h("strong", {}, `${one.case}: `) : null, one.sentences.join(" ")),
        one.note ? h("p", { class: "note" }, one.note) : null,
    ]);
    return [...cases, ...why.notes.map((text) => h("p", { class: "note" }, text))];
}

/** Which run, of how many, a report of many shows over time at first. */
function ofRuns(report: Report): string {
    const { runs } = report.series;
    const drawn = first(report).map((run) => run.label);
    return runs.length > 1 ? `${drawn.join(" and ")} (${drawn.length} of ${runs.length} runs)` : "";
}

function whole({ id, title, content }: Section): HTMLElement | null {
    const children = content();
    return children.length ? section(id, title, children) : null;
}

/** A section that is built when it is opened. */
function later({ id, title, content }: Section): HTMLElement | null {
    const heading = h("h2", { id: `${id}-title` }, title);
    const details = h("details", { class: "folded" }, h("summary", {}, heading));
    details.addEventListener("toggle", () => {
        if (details.open && details.childElementCount === 1)
            details.append(...content().filter((one) => one != null));
    });
    return h("section", { id, "aria-labelledby": `${id}-title` }, details);
}

/** Who follows a link to a folded section sees it. */
function unfold(): void {
    const found = document.getElementById(location.hash.slice(1))?.querySelector("details.folded");
    if (found) found.setAttribute("open", "");
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
    return h("header", {}, h("h1", {}, report.title), verdict, warnings(report.warnings), nav);
}

/** One line that opens: how many there are; those that differ by numbers alone are one. */
export function warnings(all: Report["warnings"]): HTMLElement | null {
    if (!all.length) return null;
    const items = all.map(({ text, more, runs, count }) => {
        const rest = count > runs.length ? ` and ${count - runs.length} more` : "";
        const of = runs.length ? h("small", {}, ` (${runs.join("; ")}${rest})`) : null;
        const times = more.length ? `${more.length + 1} alike, such as: ` : "";
        return h("li", {}, times, text, of);
    });
    const count = all.reduce((sum, one) => sum + one.more.length + 1, 0);
    const kinds = items.length < count ? `, of ${items.length} kind${items.length === 1 ? "" : "s"}` : "";
    const summary = h("summary", {}, `${count} warning${count === 1 ? "" : "s"}${kinds}`);
    return h(
        "details",
        { class: "warned", id: "warnings", open: items.length < 3 },
        summary,
        h("ul", { class: "warnings" }, ...items),
    );
}

const MARKS: Record<string, string> = { agrees: "✓", differs: "≠", unclear: "~", unjudged: "?" };

function comparison(report: Report): Child[] {
    const found = report.comparison;
    if (!found) return [];
    const text = (value: number | null) => (value === null ? "" : String(Number(value.toPrecision(4))));
    const word = (one: string) => h("span", { class: `word ${one}` }, one && `${MARKS[one]} ${one}`);
    const [reference, ...others] = found.sides;
    return found.rows.map((row) => {
        const heads = [
            "figure",
            ...others.map((name) => `${name} against ${reference}`),
            ...found.sides,
            "within",
        ];
        const lines = row.figures.map((one) =>
            h(
                "tr",
                {},
                h("th", { scope: "row" }, one.name),
                ...one.words.map((said) => h("td", { class: "word" }, word(said))),
                ...one.values.map((value) => h("td", {}, text(value))),
                h("td", {}, text(one.tolerance)),
            ),
        );
        const head = h(
            "tr",
            {},
            ...heads.map((name, i) => {
                return h("th", { scope: "col", class: i > others.length ? "" : "word" }, name);
            }),
        );
        const drawn = h("table", { "aria-label": row.case }, h("thead", {}, head), h("tbody", {}, ...lines));
        const summary = h(
            "summary",
            { class: "case" },
            word(row.word),
            ` ${row.case}`,
            row.where ? h("span", {}, `: ${row.where}`) : null,
            row.why ? h("small", {}, ` (${row.why})`) : null,
        );
        const causes = row.causes.map((text) => h("p", {}, text));
        return h("details", { open: row.word !== "agrees" }, summary, ...causes, scrolled(row.case, drawn));
    });
}

function changes(report: Report): Child[] {
    const found = report.changes;
    if (!found) return [];
    const varied = (report.table?.keys ?? []).filter((key) => key !== "folder");
    const cases = varied.length ? [varied.map((key) => key.replace(/^path\./, "")).join(", ")] : [];
    const rows = (all: Change[]) =>
        all.map((one) => [
            ...[one.figure, one.flow],
            ...(cases.length ? [one.case] : []),
            ...[one.before, one.after, one.change],
        ]);
    const heads = ["figure", "flow", ...cases, ...report.folders, "change"];
    const drawn = (name: string, all: Change[]) => scrolled(name, plain("", heads, rows(all)));
    const only = [
        [found.only_before, report.folders[0]],
        [found.only_after, report.folders[1]],
    ].flatMap(([count, folder]) => (count ? [`${count} rows are only in ${folder}.`] : []));
    if (found.left_out)
        only.push(`${found.left_out} more rows are left out; \`dumbbell show --diff\` prints all.`);
    const overall = found.directions.map((one) => [
        one.figure,
        one.flow,
        `${one.up} of ${one.of}`,
        `${one.down} of ${one.of}`,
        String(one.moved),
        one.overall,
    ]);
    const ways = ["figure", "flow", "up in", "down in", "clear in", "change on average"];
    const still = found.still.length
        ? h(
              "details",
              {},
              h("summary", {}, `${found.still.length} figures that did not move`),
              drawn("What did not move", found.still),
          )
        : null;
    return [
        h("p", { class: "note" }, [found.caption, ...only].join(" ")),
        ...found.why.map((text) => h("p", {}, text)),
        overall.length ? h("h3", {}, "Over all combinations") : null,
        overall.length ? scrolled("Over all combinations", plain("", ways, overall)) : null,
        found.rows.length ? h("h3", {}, "What moved") : null,
        found.rows.length ? drawn("What moved", found.rows) : null,
        still,
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
        h(
            "details",
            {},
            h("summary", {}, `Data of ${one.links.length === 1 ? "one run" : `${one.links.length} runs`}`),
            h("ul", {}, ...links),
            more,
        ),
    );
}
