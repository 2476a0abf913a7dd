// A run that is coming in: its points as the charts of a report have them.
import type { Chart, Run } from "../types";
import type { News } from "./api";

const NAMES = ["goodput", "throughput", "cwnd", "inflight", "rtt"];
/** Rates are means over the bins of the finished chart: what arrives in a burst is no rate of a moment. */
const RATES = 2;

/** The sum of a line's rates over time in the bin that is not full. */
interface Bin {
    number: number;
    sums: number[];
    last: number;
}

export class Coming {
    readonly run: Run;
    /** How far its points reach, seconds. */
    at = 0;
    private readonly link: number | null;
    private readonly width: number;
    private readonly from: number;
    private readonly bins: Bin[] = [];

    constructor(
        number: number,
        label: string,
        begun: NonNullable<News["begin"]>["runs"][number],
        rtt: string | null,
        readonly duration = begun.duration_s,
    ) {
        this.link = begun.rate_mbps ?? null;
        this.width = begun.bin_s ?? 1;
        this.from = begun.from_s ?? 0;
        const lines = begun.lines ?? [];
        const chart = (): Chart => ({ x: [], y: lines.map(() => []), width: 1 });
        this.run = {
            run: number,
            label,
            folder: "",
            lines,
            states: [],
            charts: Object.fromEntries(NAMES.map((name) => [name, chart()])),
        };
        for (const name of NAMES.slice(0, RATES)) this.run.charts[name].bin = this.width;
        this.run.charts.queue = { x: [], y: [[]], width: 1, drops: [], marks: [] };
        if (this.link !== null) this.run.charts.goodput.rate = [];
        this.run.charts.inflight.bdp = begun.bdp;
        if (rtt) this.run.charts.rtt.title = rtt;
    }

    take(points: NonNullable<News["points"]>): void {
        for (const [t, flow, ...values] of points.samples) {
            this.fill(t!, flow!, values);
            NAMES.slice(RATES).forEach((name, i) =>
                this.put(this.run.charts[name], t!, flow!, values[i + RATES]),
            );
            this.at = Math.max(this.at, t!);
        }
        const { queue } = this.run.charts;
        for (const [t, sojourn, drops, marks] of points.queue) {
            queue.x.push(t);
            queue.y[0].push(sojourn);
            queue.drops!.push(drops);
            queue.marks!.push(marks);
            this.at = Math.max(this.at, t);
        }
    }

    /** Adds the rates of a line since its last point to its bin, and draws the bin when it is full. */
    private fill(t: number, flow: number, rates: (number | null)[]): void {
        const bin = (this.bins[flow] ??= { number: 0, sums: Array(RATES).fill(0), last: this.from });
        if (t <= this.from) return;
        const span = t - Math.max(bin.last, this.from);
        bin.sums.forEach((_, i) => (bin.sums[i] += (rates[i] ?? 0) * span));
        bin.last = t;
        if (t < this.from + (bin.number + 1) * this.width - 1e-9) return;
        const whole = t - this.from - bin.number * this.width;
        const middle = this.from + (bin.number + 0.5) * this.width;
        NAMES.slice(0, RATES).forEach((name, i) =>
            this.put(this.run.charts[name], middle, flow, bin.sums[i] / whole),
        );
        bin.number = Math.floor((t - this.from) / this.width + 1e-9);
        bin.sums.fill(0);
    }

    private put(chart: Chart, t: number, flow: number, value: number | null): void {
        let last = chart.x.length - 1;
        if (chart.x[last] !== t) {
            chart.x.push(t);
            chart.y.forEach((row) => row.push(null));
            chart.rate?.push(this.link);
            last++;
        }
        chart.y[flow][last] = value;
    }
}

/** The part of a run up to a time, on the axis of the whole. */
export function cut(run: Run, at: number, end: number): Run {
    const charts = Object.entries(run.charts).map(([name, chart]) => [name, cutChart(chart, at, end)]);
    return { ...run, charts: Object.fromEntries(charts) };
}

function cutChart(chart: Chart, at: number, end: number): Chart {
    const last = chart.x[chart.x.length - 1] ?? 0;
    if (at >= end && last >= end) return chart;
    let count = chart.x.length;
    while (count && chart.x[count - 1] > at) count--;
    const part = <T>(row: T[], rest: T) => [...row.slice(0, count), rest];
    return {
        ...chart,
        x: part(chart.x, end),
        y: chart.y.map((row) => part<number | null>(row, null)),
        ...(chart.rate ? { rate: part<number | null>(chart.rate, null) } : {}),
        ...(chart.drops ? { drops: part<number | null>(chart.drops, null) } : {}),
        ...(chart.marks ? { marks: part<number | null>(chart.marks, null) } : {}),
    };
}
