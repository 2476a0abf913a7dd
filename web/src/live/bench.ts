// The page as a whole: builder, run, charts, what is known of the runs on screen.
import { h } from "../dom";
import { warnings } from "../report";
import { sweeps } from "../sweeps";
import { table } from "../table";
import { scoped, themeButton } from "../theme";
import type { Report, Run } from "../types";
import { api, follow, Refused, type Checked, type Known, type News, type Posted, type Tables } from "./api";
import { Builder } from "./builder";
import { Coming } from "./coming";
import { Exchange } from "./exchange";
import { Past } from "./past";
import { Recordings } from "./recordings";
import { FIRST } from "./scenario";
import { Stage } from "./stage";
import { Growing, Sweep } from "./sweep";

/** A handle re-runs what has fewer packets than this, which takes about a second. */
const AT_ONCE = 3e6;
/** Where a scenario runs, in the page's words. */
const BACKENDS: Record<string, string> = {
    sim: "in the simulator",
    linux: "on this kernel, in real time",
};
/** How often a page that watches asks what there is. */
const WATCH_MS = 2000;
const WAIT_MS = { typing: 200, handle: 60 };

export class Bench {
    readonly elements: HTMLElement[];
    private readonly builder: Builder;
    private readonly exchange: Exchange;
    private readonly past: Past;
    private readonly stage: Stage;
    private readonly recordings: Recordings;
    private readonly sweep: Sweep;
    private readonly growing: Growing;
    private readonly said = h("div", { class: "said", role: "alert" });
    private readonly estimate = h("p", { class: "note" });
    private readonly verdict = h("div", { class: "verdict", "aria-live": "polite" });
    private readonly facts = h("div", {});
    private readonly bar = h("progress", { max: 1, value: 0, "aria-label": "Simulated" });
    private readonly left = h("output", {});
    private readonly start = h("button", { type: "button", class: "main" }, "Run");
    private readonly stop = h("button", { type: "button", disabled: true }, "Cancel");
    private readonly again = h("button", { type: "button" }, "Another seed");
    private readonly keep = h("button", { type: "button" }, "Keep on screen");
    private readonly on = h("select", { "aria-label": "Run on" });
    private readonly isEager = h("input", { type: "checkbox", checked: true });
    private base: string | undefined;
    private job: string | null = null;
    private checks = 0;
    private starts = 0;
    private timer = 0;
    private fading = 0;
    private gone = () => {};
    /** The one run on screen, which the next one shows below itself. */
    private last: Run | null = null;
    private readonly share = h("button", { type: "button" }, "Share with the class");
    private readonly folds = new Map<string, HTMLElement>();
    /** Runs that stay on screen under the one that comes. */
    private under: Run[] = [];

    constructor(private readonly known: Known) {
        this.builder = new Builder(known, structuredClone(FIRST), (isHandle) => this.changed(isHandle));
        this.stage = new Stage(known.looks);
        this.past = new Past(known.keep, () => {
            this.growing.clear();
            void this.compare();
        });
        this.exchange = new Exchange(known, {
            load: (tables, base) => this.load(tables, base),
            apply: (toml, base) => this.apply(toml, base),
            record: (file) => void this.recordings.bring(file),
            say: (text) => (this.said.textContent = text),
        });
        this.recordings = new Recordings(known.recording, {
            tables: () => this.builder.tables,
            written: () => this.load(this.builder.tables),
            say: (text) => (this.said.textContent = text),
        });
        this.growing = new Growing(known.looks);
        this.sweep = new Sweep(known, {
            tables: () => this.builder.tables,
            offered: () => this.builder.sweepable,
            run: (tables) => {
                this.start.scrollIntoView();
                void this.run(tables);
            },
            written: () => this.load(this.builder.tables, this.base),
        });
        this.start.addEventListener("click", () => void this.run());
        this.stop.addEventListener("click", () => void this.cancel());
        this.again.addEventListener("click", () => this.seed());
        this.keep.addEventListener("click", () => {
            this.past.keep();
            void this.compare();
        });
        document.addEventListener("keydown", (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.run();
        });
        this.share.addEventListener("click", () => void this.shared());
        this.on.append(...known.backends.map((name) => h("option", { value: name }, BACKENDS[name])));
        if (!known.backends.includes("linux"))
            this.on.append(h("option", { disabled: true }, "on this kernel: needs a server run by root"));
        this.on.addEventListener("change", () => void this.checked());
        this.elements = this.layout(known);
    }

    private layout(known: Known): HTMLElement[] {
        const { name, watches, shares } = known.room;
        const whose = watches ? "this page watches" : name;
        const fields = h(
            "details",
            { class: "fields-fold" },
            h("summary", {}, "All fields"),
            this.builder.element,
            this.estimate,
        );
        this.folds.set("All fields", fields);
        this.folds.set("Sweep a field", this.sweep.element);
        this.folds.set("Recordings", this.recordings.element);
        this.folds.set("Scenario file", this.exchange.element);
        const open = [...this.folds].map(([label, fold]) =>
            h("button", { type: "button", class: "to", onclick: () => unfold(fold) }, label),
        );
        const head = h(
            "header",
            { class: "live-head" },
            h("h1", {}, "Dumbbell", whose ? h("small", {}, ` ${whose}`) : null),
            watches ? null : this.exchange.gallery,
            watches ? null : h("nav", { class: "actions", "aria-label": "Tools" }, ...open),
            themeButton(),
        );
        this.bar.hidden = this.stop.hidden = true;
        const actions = h(
            "div",
            { class: "actions" },
            this.start,
            this.on,
            this.stop,
            this.again,
            this.keep,
            shares ? this.share : null,
            h("label", {}, this.isEager, "run when a handle moves"),
            this.bar,
            this.left,
        );
        const result = h(
            "section",
            { "aria-label": "Result" },
            watches ? null : actions,
            this.said,
            this.verdict,
            this.growing.element,
            this.stage.element,
            this.past.element,
            this.facts,
        );
        const path = h(
            "section",
            { "aria-label": "Path" },
            this.builder.sketch.element,
            this.builder.sketch.editor,
        );
        const tools = h("section", { class: "tools", "aria-label": "Scenario" }, ...this.folds.values());
        const footer = h("footer", {}, `dumbbell ${known.version}. Ctrl+Enter runs.`);
        return watches ? [head, result, footer] : [head, path, result, tools, footer];
    }

    /** The scenario of the address, or one to begin with. */
    async begin(): Promise<void> {
        await this.past.load();
        if (this.known.room.watches) return void this.followed();
        if (!(await this.exchange.fromAddress())) await this.checked();
        await this.run();
    }

    /** Shows what whoever runs the class runs, and goes on so. */
    private async followed(): Promise<void> {
        let shown = "";
        for (;;) {
            try {
                const { runs, jobs } = await api.runs();
                const job = jobs.at(-1)?.id;
                if (job) {
                    await this.watch(job, ++this.starts);
                    shown = job;
                } else if (runs.length && runs[0].id !== shown) {
                    shown = runs[0].id;
                    await this.past.load(shown);
                    await this.compare();
                }
                this.said.textContent = shown ? "" : "Nothing has run yet: what runs is shown here.";
            } catch (error) {
                this.said.textContent = (error as Error).message;
            }
            await new Promise((done) => setTimeout(done, WATCH_MS));
        }
    }

    private async shared(): Promise<void> {
        try {
            for (const run of this.past.chosen) await api.share(run);
            this.left.textContent = `All seats see ${this.past.chosen.join(", ")}.`;
        } catch (error) {
            this.refused(error as Error);
        }
    }

    private load(tables: Tables, base?: string): void {
        this.base = base;
        this.last = null;
        this.stage.fit();
        this.builder.load(tables);
        void this.checked();
    }

    /** A text: its fields are shown even where it is wrong, as far as it is TOML. */
    private async apply(toml: string, base?: string): Promise<boolean> {
        try {
            const found = await api.check({ toml, base });
            if (!found.tables) {
                this.said.textContent = found.errors.map((one) => one.text).join("\n");
                return false;
            }
            this.load(found.tables, base);
            return true;
        } catch (error) {
            this.said.textContent = (error as Error).message;
            return false;
        }
    }

    private changed(isHandle: boolean): void {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(
            async () => {
                const found = await this.checked();
                const isShort =
                    found && this.on.value === "sim" && found.packets! < AT_ONCE && found.runs === 1;
                if (isHandle && isShort && this.isEager.checked) await this.run();
            },
            isHandle ? WAIT_MS.handle : WAIT_MS.typing,
        );
    }

    private posted(): Posted {
        return { tables: this.builder.tables, base: this.base, on: this.on.value };
    }

    /** Asks the scenario itself; null where it is wrong, or something newer was asked. */
    private async checked(): Promise<Checked | null> {
        const number = ++this.checks;
        try {
            const found = await api.check(this.posted());
            if (number !== this.checks) return null;
            const rest = this.builder.say(found.errors);
            this.said.textContent = rest.map((one) => (one.key ? `${one.key}: ` : "") + one.text).join("\n");
            this.estimate.textContent = found.errors.length
                ? "Not run: see the messages beside the fields."
                : [
                      ...found.warnings.map((text) => `Note: ${text}`),
                      found.text?.split("\n").pop()?.trim(),
                  ].join("\n");
            this.exchange.show(this.posted(), found.toml);
            this.sweep.offer();
            this.start.disabled = found.errors.length > 0;
            return found.errors.length ? null : found;
        } catch (error) {
            this.said.textContent = (error as Error).message;
            return null;
        }
    }

    private seed(): void {
        const now = Number(this.builder.tables.seed ?? 1);
        this.builder.tables.seed = Number.isInteger(now) ? now + 1 : 1;
        this.builder.draw();
        void this.checked().then((found) => found && this.run());
    }

    /** Runs the scenario, or one that was made from it. */
    private async run(tables: Tables = this.builder.tables): Promise<void> {
        if (this.start.disabled) return;
        const number = ++this.starts;
        try {
            const { job } = await api.start({
                ...this.posted(),
                tables,
                instead: this.job ?? undefined,
            });
            if (number !== this.starts) {
                await api.cancel(job);
                return;
            }
            this.job = job;
            this.stop.disabled = this.stop.hidden = false;
            this.sweep.say([]);
            await this.watch(job, number);
        } catch (error) {
            this.refused(error as Error);
        }
        if (number === this.starts) this.idle();
    }

    private refused(error: Error): void {
        const rest = error instanceof Refused ? this.sweep.say(error.errors) : [];
        const isElsewhere = error instanceof Refused && error.errors.length > rest.length;
        this.said.textContent = isElsewhere ? "" : error.message;
    }

    private idle(): void {
        this.job = null;
        this.stop.disabled = this.stop.hidden = this.bar.hidden = true;
        this.bar.value = 0;
        this.left.textContent = "";
    }

    private async cancel(): Promise<void> {
        if (this.job) await api.cancel(this.job);
    }

    private async watch(job: string, number: number): Promise<void> {
        let coming: Coming[] = [];
        let done = 0;
        let isVaried = false;
        const figure = this.sweep.figure;
        await follow(job, (news: News) => {
            if (number !== this.starts) return;
            if (news.begin) {
                coming = this.begun(news.begin);
                isVaried = news.begin.vary.length > 0;
            }
            if (news.points) {
                coming[news.run!]?.take(news.points);
                this.draw(coming);
            }
            if (news.progress) this.progress(news.progress);
            if (news.done) {
                done++;
                if (isVaried)
                    this.growing
                        .grow(job, figure, () => number === this.starts)
                        .catch((error) => this.refused(error));
            }
            if (news.error ?? news.stopped) this.said.textContent = (news.error ?? news.stopped)!;
        });
        if (number !== this.starts) return;
        clearTimeout(this.fading);
        if (done) {
            await this.past.load(job);
            await this.compare();
        } else this.forget();
    }

    /** What is said of the runs before is not of the one that comes; a short one replaces it at once. */
    private fade(): void {
        clearTimeout(this.fading);
        this.fading = window.setTimeout(() => this.forget(), 400);
    }

    private forget(): void {
        this.verdict.replaceChildren();
        this.facts.replaceChildren();
    }

    private begun(begin: NonNullable<News["begin"]>): Coming[] {
        this.said.textContent = "";
        this.growing.clear();
        this.bar.value = 0;
        this.bar.hidden = false;
        this.stage.haunt(begin.runs.length === 1 && !this.under.length ? this.last : null);
        this.fade();
        const drawn = begin.runs.filter((one) => one.lines);
        const label = (i: number) => (begin.runs.length > 1 ? `run ${i + 1}` : begin.job);
        const coming = drawn.map((one, i) => new Coming(i, label(i), one, begin.rtt));
        const most = Math.max(...drawn.map((one) => one.flows ?? 0));
        if (most > (drawn[0].lines?.length ?? 0))
            this.left.textContent = `the first ${drawn[0].lines!.length} of ${most} flows are drawn while it runs`;
        this.draw(coming, true);
        return coming;
    }

    private draw(coming: Coming[], isNew = false): void {
        const end = Math.max(...coming.map((one) => one.duration));
        const there = Math.max(...coming.map((one) => one.at));
        // Runs of a sweep begin one after the other: those without points have no lines yet.
        const fresh = coming.filter((one, i) => one.at > 0 || i === 0).map((one) => one.run);
        const runs = [...this.under, ...fresh];
        this.stage.show(runs, end, there, true, isNew);
    }

    private progress({ part, left_s: left }: NonNullable<News["progress"]>): void {
        this.bar.value = part;
        this.left.textContent = `${Math.floor(part * 100)} %${left === null ? "" : `, ${left.toFixed(0)} s left`}`;
    }

    /** The chosen runs as their report has them, one over the other. */
    private async compare(): Promise<void> {
        const chosen = this.past.chosen;
        if (!chosen.length) return;
        const report = await api.document(chosen);
        if (report.folders.length === 1 && report.series.runs.length === 1)
            report.series.runs[0].label = chosen[0];
        const pinned = report.folders.filter((_, i) => this.past.isPinned(chosen[i]));
        this.verdict.replaceChildren(...report.verdict.map((sentence) => h("p", {}, sentence)));
        const runs = firsts(report);
        this.under = runs.filter((run) => pinned.some((name) => run.label.includes(name)));
        const last = Math.max(...runs.map((run) => run.charts.cwnd?.x.at(-1) ?? 0), 0.001);
        this.stage.show(runs, Math.ceil(last * 10) / 10, last, false);
        if (runs.length > 1) this.stage.haunt(null);
        this.last = runs.length === 1 ? runs[0] : null;
        this.gone();
        const [made, gone] = scoped(() => facts(report));
        this.gone = gone;
        this.facts.replaceChildren(...made);
    }
}

/** At most four runs: of several folders the first of each. */
function firsts(report: Report): Run[] {
    const { runs } = report.series;
    if (report.folders.length === 1) return runs.slice(0, 4);
    return report.folders.flatMap((folder) => runs.find((run) => run.label.includes(folder)) ?? []);
}

function facts(report: Report): HTMLElement[] {
    const part = (title: string, ...children: HTMLElement[]) =>
        children.length ? [h("section", { "aria-label": title }, h("h2", {}, title), ...children)] : [];
    const warned = warnings(report.warnings);
    return [
        ...(warned ? [warned] : []),
        ...(report.sweeps.figures.length ? part("What varies", sweeps(report)) : []),
        ...(report.table ? part("Figures", table(report)) : []),
    ];
}

/** Opens a fold and goes there. */
function unfold(fold: HTMLElement): void {
    fold.setAttribute("open", "");
    fold.scrollIntoView();
    fold.querySelector("summary")?.focus({ preventScroll: true });
}
