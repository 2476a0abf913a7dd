// The page's data, as python/dumbbell/report makes it. Nothing here is computed again.

/** A colour on a light and on a dark page. */
export type Colour = [string, string];
export type Numbers = (number | null)[];

/** How lines look: dashes by number, and the colours of what is none of a flow. */
export interface Looks {
    dashes: number[][];
    queue: Colour;
    drops: Colour;
    marks: Colour;
    reference: Colour;
}

export interface Line {
    label: string;
    colour: Colour;
    dash: number;
    /** Five rows of values, the 5th to the 95th percentile of the flows of a group. */
    band: boolean;
    size: number;
}
export interface Chart {
    x: number[];
    y: Numbers[];
    /** How many points an interval had of which only the minimum and the maximum are left. */
    width: number;
    title?: string;
    bin?: number;
    rate?: Numbers;
    bdp?: [string, number][];
    drops?: Numbers;
    marks?: Numbers;
}
export interface Run {
    run: number;
    label: string;
    /** The folder that it is of, where the report has several. */
    folder: string;
    lines: Line[];
    charts: Record<string, Chart>;
    states: { label: string; stays: number[]; end: number; whole: boolean }[];
    state_names?: [string, string, string][];
}
export interface Axis {
    title: string;
    ticks: string[];
    at: number[];
    numeric: boolean;
    log: boolean;
    /** Points of a random sample, between which no line leads. */
    scattered: boolean;
}
/** Place on the axis, mean, ends of the interval, repetitions, colour. */
export type Point = [number, number, number, number, number, Colour];
export interface VaryRow {
    label: string;
    colour: Colour;
    symbol: string;
    dash: number;
    points: Point[];
}
export interface VaryForm {
    form: "lines" | "bars" | "heat";
    x: Axis;
    y?: Axis;
    rate?: number | null;
    /** Cells: places on both axes, mean, ends of the interval, repetitions. */
    panels: { title: string; rows?: VaryRow[]; cells?: number[][] }[];
    /** Of a heat map, which has no whiskers; else that of the figure. */
    caption?: string;
}
export interface Vary {
    metric: string;
    title: string;
    unit: string;
    folder: string;
    forms: VaryForm[];
    caption: string;
    /** Decimals of its numbers. */
    digits: number;
    most: number | null;
}
export interface Cdf {
    kind: string;
    title: string;
    panels: {
        title: string;
        lines: { label: string; count: number; colour: Colour; dash: number; at: number[] }[];
    }[];
}
export interface RepeatedRow {
    case: string;
    flow: string;
    colour: Colour;
    mean: number;
    /** 95 %, cut to what is possible; null without repetitions. */
    interval: [number, number] | null;
    text: string;
    values: number[];
}
export interface Column {
    name: string;
    title: string;
    unit: string;
    long: string;
    shown: boolean;
    /** Whether bars tell its values apart. */
    bars: boolean;
    most: number | null;
}
export interface TableRow {
    scenario: string;
    vary: string[];
    flow: string;
    colour: Colour;
    n: number;
    /** Text and number; no number where a percentile lies among what never ended. */
    cells: ([string, number | null] | null)[];
}
export interface Table {
    keys: string[];
    columns: Column[];
    rows: TableRow[];
    notes: string[];
    repeated: boolean;
}
export interface Link {
    name: string;
    rate: string;
    queue: string;
    policer: string;
}
export interface Path {
    name: string;
    senders: {
        label: string;
        cca: string;
        colour: Colour;
        rtt: string;
        start: string;
        up: boolean;
        over: number[];
    }[];
    links: Link[];
    back: Link[];
    impairments: string[];
    probes: number;
    varies: string[];
    caption: string;
}
export interface Change {
    case: string;
    flow: string;
    figure: string;
    before: string;
    after: string;
    change: string;
}
export interface Changes {
    text: string;
    rows: Change[];
    /** Those that did not move. */
    still: Change[];
    /** Figures over all combinations: in how many they are more, less, clearly so, and the change on average. */
    directions: {
        flow: string;
        figure: string;
        up: number;
        down: number;
        moved: number;
        of: number;
        overall: string;
    }[];
    caption: string;
    /** Why figures moved. */
    why: string[];
    only_before: number;
    only_after: number;
    left_out: number;
}
export interface Comparison {
    text: string;
    /** The reference first. */
    sides: string[];
    rows: {
        case: string;
        word: string;
        why: string;
        where: string;
        /** Why the sides differ. */
        causes: string[];
        figures: { name: string; values: Numbers; tolerance: number | null; words: string[] }[];
    }[];
}
export interface Scoreboard {
    folder: string;
    provisional: boolean;
    scaled: string;
    papers: Record<string, string>[];
    entries: { id: string; picture: string; claims: Record<string, string>[] }[];
}
export interface Origin {
    folder: string;
    name: string;
    facts: [string, string][];
    controllers: string[];
    scenario: string;
    command: string;
    links: [string, string][];
    more: number;
}
export interface Report {
    version: number;
    title: string;
    made: string;
    looks: Looks;
    folders: string[];
    kind: "run" | "sweep" | "comparison" | "difference";
    /** The answer. */
    verdict: string[];
    /** Who got what in each combination, or what the smallest and largest are. */
    told: string[];
    comparison: Comparison | null;
    /** Why flows got what they got, in sentences; the case is empty where there is one. */
    why: { cases: { case: string; sentences: string[]; note: string }[]; notes: string[] };
    /** `more`: texts that differ from the first by their numbers alone. */
    warnings: { text: string; more: string[]; runs: string[]; count: number }[];
    paths: Path[];
    table: Table | null;
    changes: Changes | null;
    series: { runs: Run[]; notes: string[] };
    sweeps: { figures: Vary[]; notes: string[] };
    cdfs: { figures: Cdf[]; notes: string[] };
    repeated: { metric: string; title: string; rows: RepeatedRow[] }[];
    scoreboards: Scoreboard[];
    origins: Origin[];
}
