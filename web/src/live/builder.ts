// The builder: the path, its flows and the run as fields, each bound to a key of the scenario.
import { h } from "../dom";
import { Fields, type Form, type Handle, type Sweepable } from "./fields";
import { read, write } from "./scenario";
import { said, Sketch, type Part } from "./sketch";
import type { Known, Problem, Tables } from "./api";

const RATE: Handle = { low: 1, high: 10000, log: true, unit: "Mbps" };
const RTT: Handle = { low: 1, high: 500, log: true, unit: "ms" };
const BUFFER: Handle = { low: 0.05, high: 20, log: true, unit: "bdp" };
const LOSS: Handle = { low: 0, high: 5, log: false, unit: "%" };
const JITTER: Handle = { low: 0, high: 50, log: false, unit: "ms" };
const DURATION: Handle = { low: 1, high: 600, log: true, unit: "s" };
const START: Handle = { low: 0, high: 60, log: false, unit: "s" };

const START_JITTER: Handle = { low: 0, high: 1000, log: false, unit: "ms" };

/** Flow tables in the drawing; the fields have all. */
const DRAWN_MAX = 6;
/** Flows of a table, as far as a sweep suggests. */
const COUNT_MAX = 1000;

/** Flow tables that have fields; of more, the text is edited. */
const TABLES_MAX = 20;

export class Builder {
    /** All fields. */
    readonly element = h("div", { class: "builder" });
    readonly sketch = new Sketch(() => this.add());
    private flowGroups: HTMLElement[] = [];
    private upFields: HTMLElement[] = [];
    private runFields: HTMLElement[] = [];
    private fields: Fields;
    private readonly form: Form;

    constructor(
        private readonly known: Known,
        tables: Tables,
        changed: (isHandle: boolean) => void,
    ) {
        this.form = {
            tables,
            changed: (isHandle) => {
                this.sketch.say(this.parts());
                changed(isHandle);
            },
        };
        this.fields = new Fields(this.form);
        this.draw();
    }

    get tables(): Tables {
        return this.form.tables;
    }

    /** Another scenario. */
    load(tables: Tables): void {
        this.form.tables = tables;
        this.draw();
    }

    /** Fields that can be swept. */
    get sweepable(): Sweepable[] {
        return this.fields.sweepable
            .filter(({ key }) => key !== "duration")
            .map((one) => ({ ...one, group: groupOf(one.key) }));
    }

    /** Messages beside their fields; returns those that belong to none. */
    say(problems: Problem[]): Problem[] {
        const rest = this.fields.say(problems);
        const wrong = [this.element, this.sketch.editor].flatMap((place) => [
            ...place.querySelectorAll<HTMLElement>("[aria-invalid]"),
        ]);
        // A message in a fold is none.
        const isHidden = (one: HTMLElement) => one.closest("details:not([open])") !== null;
        if (wrong.length && wrong.every(isHidden) && !this.sketch.reveal(wrong[0]))
            for (let at = wrong[0].closest("details"); at; at = at.parentElement!.closest("details"))
                at.open = true;
        return rest;
    }

    /** The parts of the drawing. */
    private parts(): Part[] {
        const { tables } = this;
        const frames = (...keys: string[]) => keys.flatMap((key) => this.fields.frame(key) ?? []);
        const flows = (Array.isArray(tables.flow) ? tables.flow : []) as Tables[];
        const jitter = said(tables, "path.jitter.spread", "");
        const up = said(tables, "path.up.rate", "");
        const seeds = said(tables, "repetitions", "1");
        return [
            ...flows.slice(0, DRAWN_MAX).map((_, i) => ({
                id: `flow${i}`,
                name: `Flow ${i + 1}`,
                place: "flow" as const,
                lines: this.flowLines(i),
                fields: () => this.flowGroups.slice(i, i + 1),
            })),
            {
                id: "queue",
                name: "Buffer and queue discipline",
                place: "way",
                lines: [said(tables, "path.buffer", "no buffer"), said(tables, "path.qdisc", "fifo")],
                fields: () => frames("path.buffer", "path.qdisc"),
            },
            {
                id: "rate",
                name: "Rate of the link",
                place: "way",
                lines: [said(tables, "path.rate", "no rate")],
                fields: () => frames("path.rate"),
            },
            {
                id: "delay",
                name: "Delay",
                place: "way",
                lines: [`RTT ${said(tables, "path.rtt", "?")}`, ...(jitter ? [`jitter ${jitter}`] : [])],
                fields: () => frames("path.rtt", "path.jitter.spread"),
            },
            {
                id: "loss",
                name: "Random loss",
                place: "way",
                lines: [`loss ${said(tables, "path.loss", "0%")}`],
                fields: () => frames("path.loss"),
            },
            {
                id: "up",
                name: "The way back",
                place: "beside",
                lines: ["← way back", up || "no limit"],
                fields: () => this.upFields,
            },
            {
                id: "run",
                name: "Duration, seed, repetitions",
                place: "beside",
                lines: [`for ${said(tables, "duration", "?")}`, ...(seeds === "1" ? [] : [`${seeds} runs`])],
                fields: () => this.runFields,
            },
        ];
    }

    private flowLines(i: number): string[] {
        const { tables } = this;
        const at = `flow[${i}]`;
        const count = said(tables, `${at}.count`, "1");
        const facts = [
            ["rtt", "RTT "],
            ["start", "at "],
        ].flatMap(([key, word]) => {
            const text = said(tables, `${at}.${key}`, "");
            return text ? [word + text] : [];
        });
        const up = said(tables, `${at}.direction`, "down") === "up" ? ["up"] : [];
        const name = said(tables, `${at}.cca`, "?");
        return [count === "1" ? name : `${count} × ${name}`, ...facts, ...up];
    }

    draw(): void {
        const focused = (document.activeElement as HTMLElement | null)?.dataset?.key;
        this.fields = new Fields(this.form);
        this.element.replaceChildren(this.path(), this.up(), this.flows(), this.run());
        this.sketch.draw(this.parts());
        if (focused)
            for (const place of [this.element, this.sketch.editor])
                place.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    }

    private path(): HTMLElement {
        const f = this.fields;
        return group(
            "Path",
            f.text("Rate", "path.rate", "such as 40Mbps", RATE),
            f.text("RTT", "path.rtt", "such as 40ms", RTT),
            f.text("Buffer", "path.buffer", "such as 1bdp, 100pkt, 64kB", BUFFER),
            f.choice("Queue discipline", "path.qdisc", this.known.qdiscs, "fifo"),
            f.text("Random loss", "path.loss", "0%", LOSS),
            f.text("Jitter (spread)", "path.jitter.spread", "0ms", JITTER),
        );
    }

    private up(): HTMLElement {
        const f = this.fields;
        this.upFields = [
            f.text("Rate up", "path.up.rate", "no limit", RATE),
            f.text("Buffer up", "path.up.buffer", "such as 1bdp", BUFFER),
            f.choice("Queue discipline up", "path.up.qdisc", this.known.qdiscs, "fifo"),
            f.text("Random loss up", "path.up.loss", "0%", LOSS),
        ];
        return group("The way back, of acknowledgements and flows that go up", ...this.upFields);
    }

    private flows(): HTMLElement {
        const flows = (Array.isArray(this.tables.flow) ? this.tables.flow : []) as Tables[];
        const made = flows.slice(0, TABLES_MAX).map((_, i) => this.flow(i, flows.length));
        const add = h("button", { type: "button", onclick: () => this.add() }, "Add a flow");
        const more =
            flows.length > TABLES_MAX
                ? `${flows.length - TABLES_MAX} more [[flow]] tables are in the text.`
                : "";
        this.flowGroups = made;
        return h("div", { class: "flows" }, ...made, h("p", {}, add, " ", more));
    }

    private flow(i: number, count: number): HTMLElement {
        const [f, at] = [this.fields, `flow[${i}]`];
        f.whose = `Flow ${i + 1}: `;
        const names = this.known.controllers.map((one) => one.name);
        const remove = h("button", { type: "button", onclick: () => this.remove(i) }, `Remove flow ${i + 1}`);
        const redraw = () => {
            write(this.tables, `${at}.params`, undefined);
            this.draw();
        };
        return group(
            `Flow ${i + 1}`,
            f.choice("Controller", `${at}.cca`, names, "", redraw),
            f.text("How many", `${at}.count`, "1", undefined, [1, COUNT_MAX]),
            f.text("RTT of its own", `${at}.rtt`, "that of the path", RTT),
            f.text("Start", `${at}.start`, "0s", START),
            f.choice("Direction", `${at}.direction`, ["down", "up"], "down"),
            this.params(i),
            count > 1 ? remove : null,
        );
    }

    private params(i: number): HTMLElement | null {
        const key = `flow[${i}].params`;
        const one = this.known.controllers.find(({ name }) => name === read(this.tables, `flow[${i}].cca`));
        if (!one?.params.length) return null;
        const fields = one.params.map((param) => {
            const unit = param.unit ? ` ${param.unit}` : "";
            const hint = `${param.default}${unit} (${param.minimum} to ${param.maximum})`;
            const made = this.fields.text(param.name, `${key}.${param.name}`, hint, undefined, [
                param.minimum,
                param.maximum,
            ]);
            made.title = param.doc;
            return made;
        });
        return h(
            "details",
            { class: "wide", open: read(this.tables, key) !== undefined },
            h("summary", {}, `Parameters of ${one.name}`),
            h("div", { class: "fields" }, ...fields),
        );
    }

    private run(): HTMLElement {
        const f = this.fields;
        f.whose = "";
        this.runFields = [
            f.text("Duration", "duration", "such as 20s", DURATION),
            f.text("Seed", "seed", "1"),
            f.text("Repetitions", "repetitions", "1"),
            f.text("Name", "name", "scenario"),
            f.text("Start jitter", "host.start_jitter", "0ms", START_JITTER),
        ];
        return group("Run and host", ...this.runFields);
    }

    private add(): void {
        const flows = (this.tables.flow ??= []) as Tables[];
        flows.push({ cca: "cubic" });
        this.draw();
        this.element
            .querySelector<HTMLElement>(`[data-key="${CSS.escape(`flow[${flows.length - 1}].cca`)}"]`)
            ?.focus();
        this.form.changed(false);
    }

    private remove(i: number): void {
        this.tables.flow.splice(i, 1);
        this.draw();
        this.form.changed(false);
    }
}

/** Which fields a field is among when one is chosen for a sweep. */
function groupOf(key: string): string {
    if (key.includes(".params.")) return "Parameters of controllers";
    if (key.startsWith("flow[")) return "Flows";
    return key.startsWith("path.") ? "Path" : "Host";
}

function group(title: string, ...fields: (HTMLElement | null)[]): HTMLElement {
    return h("fieldset", {}, h("legend", {}, title), h("div", { class: "fields" }, ...fields));
}
