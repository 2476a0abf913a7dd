// The worker of the playground: Pyodide with the Python package, which plans and tells, and for each job a worker with the
// engine. What it answers is that of python/dumbbell/playground.
import type { News } from "../live/api";
import type { FromPlanner, ToPlanner } from "../live/serverless";
import { Engine } from "./engine";
import type { FromRunner, ToRunner } from "./runner";

interface Page {
    answers: {
        answer(path: string, asked: string): string;
        points(job: string, number: number, rows: string): string;
        folder(name: string): any;
    };
    finish(job: string, number: number, plan: string, answer: string, files: unknown): string;
}
interface Started {
    job: string;
    begin: News["begin"];
    total_ns: number;
    runs: { plan: string; files: string[] }[];
}

const PYTHON = "/lib/python3.14/site-packages";
const say = (said: FromPlanner) => postMessage(said);

async function bytes(name: string): Promise<ArrayBuffer> {
    const answer = await fetch(new URL(name, location.href));
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer.arrayBuffer();
}

async function load(): Promise<{ page: Page; module: WebAssembly.Module; python: any }> {
    const engine = bytes("engine.wasm").then((found) => WebAssembly.compile(found));
    const packages = ["msgspec.whl", "dumbbell.zip"].map(bytes);
    const address = new URL("pyodide/pyodide.mjs", location.href).href;
    const { loadPyodide } = await import(/* @vite-ignore */ address);
    const python = await loadPyodide({ indexURL: new URL("pyodide/", location.href).href });
    for (const found of packages) python.unpackArchive(await found, "zip", { extractDir: PYTHON });
    const module = await engine;
    const asked = new Engine(module);
    const { begin } = python.pyimport("dumbbell.playground.begin");
    return { page: begin((text: string) => JSON.stringify(asked.ask(JSON.parse(text)))), module, python };
}

const loaded = load();
loaded.catch((error) => say({ failed: (error as Error).message }));

/** The jobs that go on: how to end them. */
const ends = new Map<string, () => void>();

/** Runs a plan in a worker of its own until it has ended, or is ended: then there is nothing. */
function made(job: string, sent: ToRunner, heard: (said: FromRunner) => void): Promise<void> {
    const worker = new Worker(new URL("runner.js", location.href), { type: "module" });
    return new Promise<void>((done) => {
        ends.set(job, done);
        worker.addEventListener("message", ({ data }) => {
            heard(data as FromRunner);
            if ("answer" in data) done();
        });
        worker.addEventListener("error", (event) => {
            heard({ answer: { runtime_error: event.message || "the engine did not load" }, files: {} });
            done();
        });
        worker.postMessage(sent);
    }).finally(() => worker.terminate());
}

class Job {
    private done = 0;
    private isCancelled = false;
    private readonly began = performance.now();

    constructor(private readonly started: Started) {}

    async run(): Promise<void> {
        const { job, begin, runs } = this.started;
        this.tell({ begin });
        for (let number = 0; number < runs.length && !this.isCancelled; number++) await this.one(number);
        ends.delete(job);
        this.tell({ end: true });
    }

    cancel(): void {
        this.isCancelled = true;
        this.tell({ stopped: "cancelled" });
        ends.get(this.started.job)?.();
    }

    private tell(news: News): void {
        say({ job: this.started.job, news });
    }

    private async one(run: number): Promise<void> {
        const { page, module, python } = await loaded;
        const { job, runs, total_ns: total } = this.started;
        const { plan, files } = runs[run];
        const given = Object.fromEntries(files.map((path) => [path, python.FS.readFile(path) as Uint8Array]));
        await made(job, { module, plan, given }, (said) => {
            if (this.isCancelled) return;
            if ("rows" in said) {
                const points = JSON.parse(page.answers.points(job, run, said.rows));
                if (points) this.tell({ run, points });
            } else if ("at" in said) this.progress((this.done + said.at) / total);
            else
                this.tell({
                    run,
                    ...JSON.parse(page.finish(job, run, plan, JSON.stringify(said.answer), said.files)),
                });
        });
        this.done += JSON.parse(plan).duration_ns;
    }

    private progress(part: number): void {
        const ran = (performance.now() - this.began) / 1000;
        const left = part && ran > 0.5 ? Math.round((10 * ran * (1 - part)) / part) / 10 : null;
        this.tell({ progress: { part, left_s: left } });
    }
}

const jobs = new Map<string, Job>();

async function answered(path: string, asked: any): Promise<any> {
    const { page } = await loaded;
    if (path === "/folder") return { folder: page.answers.folder(asked.run).toJs() };
    if (path === "/api/cancel") {
        jobs.get(asked.job)?.cancel();
        return { answer: {} };
    }
    if (path === "/api/start" && asked.instead) jobs.get(asked.instead)?.cancel();
    const found = JSON.parse(page.answers.answer(path, JSON.stringify(asked)));
    if (path !== "/api/start" || !("answer" in found)) return found;
    const started = found.answer as Started;
    const job = new Job(started);
    jobs.set(started.job, job);
    void job.run().finally(() => jobs.delete(started.job));
    return { answer: { job: started.job } };
}

addEventListener("message", async ({ data }) => {
    const { id, path, asked } = data as ToPlanner;
    try {
        say({ id, found: await answered(path, asked) });
    } catch (error) {
        say({ id, found: { error: (error as Error).message } });
    }
});
