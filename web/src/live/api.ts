// What the page asks of its server. The token goes along in a header, which no other site can send.
import type { Looks, Report, Vary } from "../types";

const { token } = JSON.parse(document.getElementById("data")!.textContent!) as { token: string };

/** The name of this page among those of the server: what it shows is not taken away. */
const page = Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16)).join("");

/** Tables as a scenario file has them. */
export type Tables = Record<string, any>;
export interface Problem {
    key: string;
    text: string;
    line?: number | null;
}
export interface Checked {
    errors: Problem[];
    warnings: string[];
    tables?: Tables | null;
    toml?: string;
    text?: string;
    runs?: number;
    packets?: number;
    duration_s?: number;
}
export interface Param {
    name: string;
    default: number;
    minimum: number;
    maximum: number;
    unit: string;
    doc: string;
}
export interface Known {
    version: string;
    looks: Looks;
    controllers: { name: string; summary: string; params: Param[]; presets: string[] }[];
    qdiscs: string[];
    gallery: { name: string; summary: string }[];
    backends: string[];
    recording: { bytes: number; files: number };
    metrics: { name: string; title: string; unit: string }[];
    keep: { folders: number; disk_bytes: number };
    limits: { time_s: number; runs: number; packets: number; memory_bytes: number };
    /** Whose page it is: a seat's by its name, one that only watches, one that shares runs with seats. */
    room: { name: string; watches: boolean; shares: boolean };
}
/** A recording that the server has: see python/dumbbell/serve/recordings.py. */
export interface Recording {
    path: string;
    form: string;
    length_s: number;
    columns: { name: string; quantity: string }[];
}
/** A figure of a paper: see python/dumbbell/serve/figures.py. */
export interface Figure {
    id: string;
    item: string;
    title: string;
}
export interface Paper {
    id: string;
    title: string;
    figures: Figure[];
}
export interface FigureCases extends Figure {
    claims: string[];
    not_stated: string[];
    cases: { label: string; tables: Tables }[];
}
/** What the server says of a finished run: see python/dumbbell/serve/why.py. */
export interface Said {
    sentences: string[];
    note: string;
}
export interface Posted {
    tables?: Tables;
    toml?: string;
    base?: string;
    instead?: string;
    on?: string;
}
/** One of the server's events: see python/dumbbell/serve/worker.py and jobs.py. */
export interface News {
    begin?: {
        job: string;
        name: string;
        /** The keys whose values the runs vary. */
        vary: string[];
        /** What RTTs are called where they are not those of the simulator. */
        rtt: string | null;
        toml: string;
        runs: {
            duration_s: number;
            lines?: any[];
            flows?: number;
            rate_mbps?: number | null;
            bdp?: [string, number][];
            /** Width of the bins of rates, and where the first begins. */
            bin_s?: number;
            from_s?: number;
        }[];
    };
    run?: number;
    points?: { samples: (number | null)[][]; queue: number[][] };
    progress?: { part: number; left_s: number | null };
    done?: string;
    error?: string;
    stopped?: string;
    end?: boolean;
}

/** An answer that says what is wrong. */
export class Refused extends Error {
    constructor(
        message: string,
        readonly errors: Problem[],
    ) {
        super(message);
    }
}

async function ask(path: string, body?: unknown): Promise<any> {
    const headers: Record<string, string> = { "X-Token": token, "X-Page": page };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const made = { headers, method: body === undefined ? "GET" : "POST", body: body && JSON.stringify(body) };
    let answer: Response;
    try {
        answer = await fetch(path, made as RequestInit);
    } catch {
        throw new Refused("The server does not answer. Is `dumbbell serve` still running?", []);
    }
    const isJson = answer.headers.get("Content-Type") === "application/json";
    const found = isJson ? await answer.json() : { error: (await answer.text()).trim() };
    if (answer.ok) return found;
    const errors: Problem[] = found.errors ?? [];
    throw new Refused(found.error ?? errors.map((one) => `${one.key}: ${one.text}`).join("\n"), errors);
}

function named(runs: string[]): string {
    return runs.map((one) => `run=${encodeURIComponent(one)}`).join("&");
}

export const api = {
    known: (): Promise<Known> => ask("/api/known"),
    gallery: (name: string): Promise<{ toml: string }> =>
        ask(`/api/gallery?name=${encodeURIComponent(name)}`),
    runs: (): Promise<{
        runs: { id: string; runs: number; created: string; toml: string }[];
        jobs: { id: string }[];
    }> => ask("/api/runs"),
    share: (run: string): Promise<void> => ask("/api/share", { run }),
    check: (posted: Posted): Promise<Checked> => ask("/api/check", posted),
    start: (posted: Posted): Promise<{ job: string }> => ask("/api/start", posted),
    cancel: (job: string): Promise<void> => ask("/api/cancel", { job }),
    document: (runs: string[]): Promise<Report> => ask(`/api/document?${named(runs)}`),
    why: (run: string, number: number, at?: number): Promise<Said> => ask("/api/why", { run, number, at }),
    papers: (): Promise<{ papers: Paper[] }> => ask("/api/papers"),
    figure: (id: string): Promise<FigureCases> => ask(`/api/figure?id=${encodeURIComponent(id)}`),
    recordings: (): Promise<{ recordings: Recording[] }> => ask("/api/recordings"),
    recording: (path: string): Promise<{ text: string }> =>
        ask(`/api/recording?path=${encodeURIComponent(path)}`),
    record: (name: string, text: string): Promise<Recording> => ask("/api/record", { name, text }),
    growing: (job: string, metric: string): Promise<{ figure: Vary | null; runs: number }> =>
        ask(`/api/growing?job=${encodeURIComponent(job)}&metric=${metric}`),
    report: (runs: string[], save: boolean): string =>
        `/report?${named(runs)}&token=${encodeURIComponent(token)}${save ? "&save=1" : ""}`,
};

/** Follows a job until it ends, from its first news on; connects again where the connection breaks. */
export async function follow(job: string, told: (news: News) => void): Promise<void> {
    let after = 0;
    for (let tries = 0; tries < 5; tries++) {
        try {
            const path = `/api/stream?job=${encodeURIComponent(job)}&after=${after}`;
            const answer = await fetch(path, { headers: { "X-Token": token } });
            if (!answer.ok || !answer.body) throw new Refused((await answer.text()).trim(), []);
            for await (const [number, news] of events(answer.body)) {
                after = number;
                tries = 0;
                told(news);
                if (news.end) return;
            }
        } catch (error) {
            if (error instanceof Refused) throw error;
        }
        await new Promise((done) => setTimeout(done, 300));
    }
    throw new Refused("The server does not answer; finished runs are in its folder.", []);
}

async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<[number, News]> {
    const reader = body.pipeThrough(new TextDecoderStream() as any).getReader();
    let text = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const parts = (text + value).split("\n\n");
        text = parts.pop()!;
        for (const part of parts) {
            const found = /^id: (\d+)\ndata: (.*)$/s.exec(part);
            if (found) yield [Number(found[1]), JSON.parse(found[2])];
        }
    }
}
