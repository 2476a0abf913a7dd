// What is on screen: a job while it runs, then the finished runs, one over the other, and what is said of them.
import { h } from "../dom";
import { warnings } from "../report";
import { sweeps } from "../sweeps";
import { table } from "../table";
import { scoped } from "../theme";
import type { Report, Run } from "../types";
import { api, follow, type Known, type News } from "./api";
import { Coming } from "./coming";
import { Past } from "./past";
import { Stage } from "./stage";
import { Growing } from "./sweep";
import { Why, type Shown } from "./why";

interface Calls {
    say(text: string): void;
    refused(error: Error): void;
}

export class Screen {
    readonly past: Past;
    readonly bar = h("progress", { max: 1, value: 0, "aria-label": "Simulated", hidden: true });
    readonly left = h("output", {});
    private readonly stage: Stage;
    private readonly growing: Growing;
    private readonly verdict = h("div", { class: "verdict", "aria-live": "polite" });
    private readonly facts = h("div", {});
    private readonly why = new Why();
    private readonly asks: boolean;
    private fading = 0;
    private gone = () => {};
    /** The one run on screen, which the next one shows below itself. */
    private last: Run | null = null;
    /** Runs that stay on screen under the one that comes. */
    private under: Run[] = [];

    constructor(
        known: Known,
        private readonly calls: Calls,
    ) {
        // What explains a run reads its tables, and is started by asking, which a page that watches may not do.
        this.asks = !known.room.watches && !known.serverless;
        this.stage = new Stage(known.looks, this.asks ? (time) => void this.why.ask(time) : null);
        this.stage.element.append(this.why.here);
        this.growing = new Growing(known.looks);
        this.past = new Past(known, () => {
            this.growing.clear();
            void this.compare();
        });
    }

    get elements(): HTMLElement[] {
        return [
            this.verdict,
            this.why.whole,
            this.growing.element,
            this.stage.element,
            this.past.element,
            this.facts,
        ];
    }

    /** Another scenario: axes of its own, and no run before. */
    renew(): void {
        this.last = null;
        this.stage.fit();
    }

    /** What is on screen stays there under the next runs. */
    keep(): void {
        this.past.keep();
        void this.compare();
    }

    /** No job runs. */
    idle(): void {
        this.bar.hidden = true;
        this.bar.value = 0;
        this.left.textContent = "";
    }

    /** Shows a job while it runs, then what it became, as long as it is wanted; `metric` is the figure of a sweep. */
    async watch(job: string, metric: string, isWanted: () => boolean): Promise<void> {
        let coming: Coming[] = [];
        let done = 0;
        let isVaried = false;
        await follow(job, (news: News) => {
            if (!isWanted()) return;
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
                    this.growing.grow(job, metric, isWanted).catch((error) => this.calls.refused(error));
            }
            if (news.error ?? news.stopped) this.calls.say((news.error ?? news.stopped)!);
        });
        if (!isWanted()) return;
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
        this.calls.say("");
        this.why.clear();
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
    async compare(): Promise<void> {
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
        if (this.asks) this.why.show(shown(report, runs, chosen));
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

/** What the server calls the runs on screen. */
function shown(report: Report, runs: Run[], chosen: string[]): Shown[] {
    const label = (run: Run) => (runs.length > 1 ? run.label : "");
    if (chosen.length === 1)
        return runs.map((run) => ({ run: chosen[0], number: run.run, label: label(run) }));
    const folderOf = (run: Run) => report.folders.indexOf(run.folder);
    return runs.map((run) => ({ run: chosen[folderOf(run)], number: 0, label: label(run) }));
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
