// No server: a worker plans, runs and tells (web/src/playground/planner.ts). It has no tables of finished runs, so that their
// lines are those that were drawn while they ran.
import type { Report, Run } from "../types";
import type { Answering, Link, News } from "./api";
import { Coming } from "./coming";
import { refused } from "./server";

/** What the worker says: an answer to a question of this number, or news of a job. */
export type FromPlanner = { id: number; found: any } | { job: string; news: News } | { failed: string };
/** What it is asked. */
export interface ToPlanner {
    id: number;
    path: string;
    asked: unknown;
}

export class Serverless implements Answering {
    readonly loading = "Loading Python and the engine: 9 MB, which the browser keeps. It takes some seconds.";
    private readonly worker: Worker;
    private readonly waiting = new Map<number, (found: any) => void>();
    private readonly news = new Map<string, News[]>();
    private readonly told = new Map<string, (news: News) => void>();
    private readonly drawn = new Map<string, Coming[]>();
    private failed: string | null = null;
    private next = 0;

    constructor(address: string) {
        this.worker = new Worker(address, { type: "module" });
        this.worker.addEventListener("message", ({ data }) => this.take(data as FromPlanner));
        this.worker.addEventListener("error", (event) =>
            this.fail(event.message || "its worker did not load"),
        );
    }

    async ask(path: string, body?: unknown): Promise<any> {
        const [at, query] = path.split("?");
        const params = new URLSearchParams(query);
        const asked = body ?? { ...Object.fromEntries(params), run: params.getAll("run") };
        const found = await this.answered(at, asked);
        if (!("answer" in found)) throw refused(found);
        return at === "/api/document" ? this.lined(found.answer) : found.answer;
    }

    links(runs: string[]): Link[] {
        return runs.map((run) => ({ text: `Save ${run} as a zip file`, go: () => void this.save(run) }));
    }

    private async save(run: string): Promise<void> {
        const { folder } = await this.answered("/folder", { run });
        const url = URL.createObjectURL(new Blob([folder], { type: "application/zip" }));
        Object.assign(document.createElement("a"), { href: url, download: `${run}.zip` }).click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
    }

    follow(job: string, told: (news: News) => void): Promise<void> {
        return new Promise((done) => {
            const take = (news: News) => {
                told(news);
                if (news.end) {
                    this.told.delete(job);
                    done();
                }
            };
            this.told.set(job, take);
            (this.news.get(job) ?? []).forEach(take);
            this.news.delete(job);
        });
    }

    private answered(path: string, asked: unknown): Promise<any> {
        if (this.failed !== null) return Promise.resolve({ error: this.failed });
        const id = this.next++;
        this.worker.postMessage({ id, path, asked } satisfies ToPlanner);
        return new Promise((done) => this.waiting.set(id, done));
    }

    private take(said: FromPlanner): void {
        if ("failed" in said) this.fail(said.failed);
        else if ("id" in said) {
            this.waiting.get(said.id)?.(said.found);
            this.waiting.delete(said.id);
        } else this.hear(said.job, said.news);
    }

    private hear(job: string, news: News): void {
        const { begin, points, run } = news;
        if (begin) {
            const drawn = begin.runs.filter((one) => one.lines);
            this.drawn.set(
                job,
                drawn.map((one, i) => new Coming(i, job, one, begin.rtt)),
            );
        }
        if (points) this.drawn.get(job)?.[run!]?.take(points);
        const told = this.told.get(job);
        if (told) told(news);
        else this.news.set(job, [...(this.news.get(job) ?? []), news]);
    }

    private fail(text: string): void {
        this.failed = `The playground did not load: ${text}`;
        this.waiting.forEach((done) => done({ error: this.failed }));
        this.waiting.clear();
    }

    /** The runs of a report with the lines that were drawn of them. */
    private lined(report: Report): Report {
        const runs = report.series.runs as (Run & { number: number })[];
        report.series.runs = runs.flatMap((run) => {
            const coming = this.drawn.get(run.folder)?.[run.number];
            const { lines, charts } = coming?.run ?? {};
            return lines && charts ? [{ ...run, lines, charts, states: [] }] : [];
        });
        return report;
    }
}
