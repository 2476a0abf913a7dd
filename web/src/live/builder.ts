// The builder: the path, its flows and the run as fields, each bound to a key of the scenario.
import { h } from "../dom";
import { Fields, type Form, type Handle, type Sweepable } from "./fields";
import { read, write } from "./scenario";
import type { Known, Problem, Tables } from "./api";

const RATE: Handle = { low: 1, high: 10000, log: true, unit: "Mbps" };
const RTT: Handle = { low: 1, high: 500, log: true, unit: "ms" };
const BUFFER: Handle = { low: 0.05, high: 20, log: true, unit: "bdp" };
const LOSS: Handle = { low: 0, high: 5, log: false, unit: "%" };
const JITTER: Handle = { low: 0, high: 50, log: false, unit: "ms" };
const DURATION: Handle = { low: 1, high: 600, log: true, unit: "s" };
const START: Handle = { low: 0, high: 60, log: false, unit: "s" };

/** Flows of a table, as far as a sweep suggests. */
const COUNT_MAX = 1000;

/** Flow tables that have fields; of more, the text is edited. */
const TABLES_MAX = 20;

export class Builder {
    readonly element = h("div", { class: "builder" });
    private fields: Fields;
    private readonly form: Form;

    constructor(
        private readonly known: Known,
        tables: Tables,
        changed: (isHandle: boolean) => void,
    ) {
        this.form = { tables, changed };
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
        return this.fields.sweepable.filter(({ key }) => key !== "duration");
    }

    /** Messages beside their fields; returns those that belong to none. */
    say(problems: Problem[]): Problem[] {
        return this.fields.say(problems);
    }

    draw(): void {
        const focused = (document.activeElement as HTMLElement | null)?.dataset?.key;
        this.fields = new Fields(this.form);
        this.element.replaceChildren(this.path(), this.up(), this.flows(), this.run());
        if (focused) this.element.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
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
        const details = h(
            "details",
            { open: read(this.tables, "path.up") !== undefined },
            h("summary", {}, "The way up (acknowledgements, and flows that go up)"),
            h(
                "div",
                { class: "fields" },
                f.text("Rate up", "path.up.rate", "no limit", RATE),
                f.text("Buffer up", "path.up.buffer", "such as 1bdp", BUFFER),
                f.choice("Queue discipline up", "path.up.qdisc", this.known.qdiscs, "fifo"),
                f.text("Random loss up", "path.up.loss", "0%", LOSS),
            ),
        );
        return details;
    }

    private flows(): HTMLElement {
        const flows = (Array.isArray(this.tables.flow) ? this.tables.flow : []) as Tables[];
        const made = flows.slice(0, TABLES_MAX).map((_, i) => this.flow(i, flows.length));
        const add = h("button", { type: "button", onclick: () => this.add() }, "Add a flow");
        const more =
            flows.length > TABLES_MAX
                ? `${flows.length - TABLES_MAX} more [[flow]] tables are in the text.`
                : "";
        return h("div", {}, ...made, h("p", {}, add, " ", more));
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
        return group(
            "Run",
            f.text("Duration", "duration", "such as 20s", DURATION),
            f.text("Seed", "seed", "1"),
            f.text("Repetitions", "repetitions", "1"),
            f.text("Name", "name", "scenario"),
        );
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

function group(title: string, ...fields: (HTMLElement | null)[]): HTMLElement {
    return h("fieldset", {}, h("legend", {}, title), h("div", { class: "fields" }, ...fields));
}
