// A handle swept into a figure: which field, from where to where, and the figure of what is finished so far.
import { h } from "../dom";
import { sweeps } from "../sweeps";
import { scoped } from "../theme";
import type { Looks, Vary } from "../types";
import { api, type Known, type Problem, type Tables } from "./api";
import { amount, written, type Sweepable } from "./fields";
import { read, shownValue, taken, write } from "./scenario";

/** Values of a sweep at first, and at most. */
const STEPS = { usual: 7, most: 50 };
/** A range at first goes so far below and above the value that is there. */
const AROUND = 4;

interface Calls {
    tables(): Tables;
    /** What can be swept now. */
    offered(): Sweepable[];
    run(tables: Tables): void;
    /** The fields are to show what the tables have. */
    written(): void;
}

export class Sweep {
    readonly element: HTMLElement;
    private readonly key = h("select", {});
    private readonly filter = h("input", {
        type: "search",
        placeholder: "such as buffer",
        autocomplete: "off",
    });
    private readonly from = field();
    private readonly to = field();
    private readonly steps = h("input", { type: "number", min: 2, max: STEPS.most, value: STEPS.usual });
    private readonly spacing = h("select", {});
    private readonly metric = h("select", {});
    private readonly wrong = h("p", { class: "wrong", role: "alert" });
    private readonly start = h("button", { type: "button" }, "Sweep");

    constructor(
        known: Known,
        private readonly calls: Calls,
    ) {
        const title = ({ title, unit }: Known["metrics"][number]) => `${title}${unit ? ` (${unit})` : ""}`;
        this.metric.append(...known.metrics.map((one) => h("option", { value: one.name }, title(one))));
        this.spacing.append(
            h("option", { value: "linear" }, "equal steps"),
            h("option", { value: "log" }, "equal factors"),
        );
        this.key.addEventListener("change", () => this.suggest());
        this.filter.addEventListener("input", () => this.offer());
        this.start.addEventListener("click", () => this.calls.run(this.swept()));
        this.element = this.layout();
        this.element.addEventListener("toggle", () => this.offer());
    }

    private layout(): HTMLElement {
        const named = (label: string, input: HTMLElement) => {
            input.id = `sweep-${label.split(" ")[0].toLowerCase()}`;
            return h("div", { class: "field" }, h("label", { for: input.id }, label), input);
        };
        const put = h("button", { type: "button", onclick: () => this.put() }, "Write it into the scenario");
        return h(
            "details",
            { class: "sweep" },
            h("summary", {}, "Sweep a field into a figure"),
            h(
                "div",
                { class: "fields" },
                named("Search fields", this.filter),
                named("Field", this.key),
                named("Figure", this.metric),
                named("From", this.from),
                named("To", this.to),
                named(`Values (2 to ${STEPS.most})`, this.steps),
                named("Spacing", this.spacing),
            ),
            this.wrong,
            h("div", { class: "actions" }, this.start, put),
        );
    }

    /** The fields that there are now; the chosen one stays chosen. */
    offer(): void {
        const before = this.key.value;
        const word = this.filter.value.trim().toLowerCase();
        const offered = this.calls
            .offered()
            .filter((one) => `${one.label} ${one.key} ${one.group}`.toLowerCase().includes(word));
        const groups = [...new Set(offered.map((one) => one.group ?? ""))].map((label) => {
            const mine = offered.filter((one) => (one.group ?? "") === label);
            return h("optgroup", { label }, ...mine.map((one) => h("option", { value: one.key }, one.label)));
        });
        this.key.replaceChildren(...groups);
        this.start.disabled = !offered.length;
        if (offered.some((one) => one.key === before)) this.key.value = before;
        else this.suggest();
    }

    /** A range around the value that is there. */
    private suggest(): void {
        const one = this.calls.offered().find(({ key }) => key === this.key.value);
        if (!one) return;
        const { handle, ends } = one;
        const text = shownValue(read(this.calls.tables(), one.key)) || one.usual;
        const value = (handle ? amount(text, handle.unit) : Number(text)) || 0;
        const put = (low: number, high: number) => {
            this.from.value = handle ? written(low, handle.unit) : String(low);
            this.to.value = handle ? written(high, handle.unit) : String(high);
        };
        this.spacing.value = handle?.log ? "log" : "linear";
        if (handle?.log && value)
            put(Math.max(handle.low, value / AROUND), Math.min(handle.high, value * AROUND));
        else if (handle) put(handle.low, handle.high);
        else if (ends)
            put(
                Math.max(ends[0], Math.floor(value / 2)),
                Math.min(ends[1], Math.max(value * 2, ends[0] + 1)),
            );
    }

    /** The scenario with a range in the place of the field. */
    private swept(): Tables {
        const tables = structuredClone(this.calls.tables());
        const range = {
            from: taken(this.from.value) ?? "",
            to: taken(this.to.value) ?? "",
            steps: Math.min(Number(this.steps.value), STEPS.most),
            spacing: this.spacing.value,
        };
        write(tables, this.key.value, range);
        return tables;
    }

    private put(): void {
        write(this.calls.tables(), this.key.value, read(this.swept(), this.key.value));
        this.calls.written();
    }

    /** Shows the errors of the swept range next to it, and returns all others. */
    say(problems: Problem[]): Problem[] {
        const mine = ({ key }: Problem) =>
            this.element.hasAttribute("open") && key.startsWith(this.key.value);
        this.wrong.textContent = problems
            .filter(mine)
            .map((one) => one.text)
            .join("\n");
        return problems.filter((one) => !mine(one));
    }

    /** The figure that is wished. */
    get figure(): string {
        return this.metric.value;
    }
}

/** The figure of a sweep while its runs end one after the other. */
export class Growing {
    readonly element = h("div", { class: "growing" });
    private gone = () => {};
    private isAsking = false;
    private isStale = false;

    constructor(private readonly looks: Looks) {}

    /** A run more is finished: asks once more when the answer before is there, so that no slow page falls behind. */
    async grow(job: string, metric: string, isWanted: () => boolean): Promise<void> {
        this.isStale = true;
        if (this.isAsking) return;
        this.isAsking = true;
        try {
            while (this.isStale && isWanted()) {
                this.isStale = false;
                const { figure } = await api.growing(job, metric);
                if (figure && isWanted()) this.show(figure);
            }
        } finally {
            this.isAsking = false;
        }
    }

    private show(figure: Vary): void {
        this.gone();
        const [made, gone] = scoped(() =>
            sweeps({ sweeps: { figures: [figure], notes: [] }, looks: this.looks }),
        );
        this.gone = gone;
        this.element.replaceChildren(made);
    }

    clear(): void {
        this.gone();
        this.gone = () => {};
        this.element.replaceChildren();
    }
}

function field(): HTMLInputElement {
    return h("input", { type: "text", spellcheck: "false", autocomplete: "off" });
}
