// What the page asks, and what it is told: by `dumbbell serve`, or where there is no server by a worker of the browser.
import type { Looks, Report, Vary } from "../types";
import { Server } from "./server";
import { Serverless } from "./serverless";

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
    /** Nothing but this page makes the runs: what reads tables, files or a kernel is not there. */
    serverless?: boolean;
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

/** Who answers. */
export interface Answering {
    /** What is said until it can answer; empty where it can. */
    readonly loading: string;
    ask(path: string, body?: unknown): Promise<any>;
    /** Follows a job until it ends, from its first news on. */
    follow(job: string, told: (news: News) => void): Promise<void>;
    /** What finished runs may be taken along as. */
    links(runs: string[]): Link[];
}
/** A link of the page: its text, and its address or what it does. */
export interface Link {
    text: string;
    go: string | (() => void);
}

const given = JSON.parse(document.getElementById("data")!.textContent!) as
    { token: string } | { worker: string };
const answering: Answering = "worker" in given ? new Serverless(given.worker) : new Server(given.token);
export const { loading } = answering;
const ask = (path: string, body?: unknown) => answering.ask(path, body);

/** Runs in a query. */
export function named(runs: string[]): string {
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
    links: (runs: string[]): Link[] => answering.links(runs),
};

/** Follows a job until it ends, from its first news on. */
export function follow(job: string, told: (news: News) => void): Promise<void> {
    return answering.follow(job, told);
}
