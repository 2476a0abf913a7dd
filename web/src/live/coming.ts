// A run that is coming in: its points as the charts of a report have them.
import type { Chart, Run } from "../types";
import type { News } from "./api";

const NAMES = ["goodput", "throughput", "cwnd", "inflight", "rtt"];

export class Coming {
    readonly run: Run;
    /** How far its points reach, seconds. */
    at = 0;
    private readonly link: number | null;

    constructor(
        number: number,
        label: string,
        begun: NonNullable<News["begin"]>["runs"][number],
        rtt: string | null,
        readonly duration = begun.duration_s,
    ) {
        this.link = begun.rate_mbps ?? null;
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
        this.run.charts.queue = { x: [], y: [[]], width: 1, drops: [], marks: [] };
        if (this.link !== null) this.run.charts.goodput.rate = [];
        this.run.charts.inflight.bdp = begun.bdp;
        if (rtt) this.run.charts.rtt.title = rtt;
    }

    take(points: NonNullable<News["points"]>): void {
        for (const [t, flow, ...values] of points.samples) {
            NAMES.forEach((name, i) => this.put(this.run.charts[name], t!, flow!, values[i]));
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
