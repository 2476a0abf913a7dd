// The page as a whole: the builder, what may be done with its scenario, and what is on screen.
import { h } from "../dom";
import { themeButton } from "../theme";
import { api, Refused, type Checked, type Known, type Posted, type Tables } from "./api";
import { Builder } from "./builder";
import { Exchange } from "./exchange";
import { Recordings } from "./recordings";
import { FIRST } from "./scenario";
import { Screen } from "./screen";
import { Sweep } from "./sweep";

/** A handle re-runs what has fewer packets than this, which takes about a second. */
const AT_ONCE = 3e6;
/** Where a scenario runs, in the page's words. */
const BACKENDS: Record<string, string> = {
    sim: "in the simulator",
    linux: "on this kernel, in real time",
};
/** How often a page that watches asks what there is. */
const WATCH_MS = 2000;
const WAIT_MS = { typing: 200, handle: 60 };

export class Bench {
    readonly elements: HTMLElement[];
    private readonly builder: Builder;
    private readonly exchange: Exchange;
    private readonly screen: Screen;
    private readonly recordings: Recordings;
    private readonly sweep: Sweep;
    private readonly said = h("div", { class: "said", role: "alert" });
    private readonly estimate = h("p", { class: "note" });
    private readonly start = h("button", { type: "button", class: "main" }, "Run");
    private readonly stop = h("button", { type: "button", disabled: true }, "Cancel");
    private readonly again = h("button", { type: "button" }, "Another seed");
    private readonly keep = h("button", { type: "button" }, "Keep on screen");
    private readonly on = h("select", { "aria-label": "Run on" });
    private readonly isEager = h("input", { type: "checkbox", checked: true });
    private base: string | undefined;
    private job: string | null = null;
    private checks = 0;
    private starts = 0;
    private timer = 0;
    private readonly share = h("button", { type: "button" }, "Share with the class");
    private readonly folds = new Map<string, HTMLElement>();

    constructor(private readonly known: Known) {
        this.builder = new Builder(known, structuredClone(FIRST), (isHandle) => this.changed(isHandle));
        this.screen = new Screen(known, {
            say: (text) => (this.said.textContent = text),
            refused: (error) => this.refused(error),
        });
        this.exchange = new Exchange(known, {
            load: (tables, base) => this.load(tables, base),
            apply: (toml, base) => this.apply(toml, base),
            record: (file) => void this.recordings.bring(file),
            say: (text) => (this.said.textContent = text),
        });
        this.recordings = new Recordings(known.recording, {
            tables: () => this.builder.tables,
            written: () => this.load(this.builder.tables),
            say: (text) => (this.said.textContent = text),
        });
        this.sweep = new Sweep(known, {
            tables: () => this.builder.tables,
            offered: () => this.builder.sweepable,
            run: (tables) => {
                this.start.scrollIntoView();
                void this.run(tables);
            },
            written: () => this.load(this.builder.tables, this.base),
        });
        this.start.addEventListener("click", () => void this.run());
        this.stop.addEventListener("click", () => void this.cancel());
        this.again.addEventListener("click", () => this.seed());
        this.keep.addEventListener("click", () => this.screen.keep());
        document.addEventListener("keydown", (event) => {
            const isRun = event.key === "Enter" && (event.ctrlKey || event.metaKey);
            if (isRun && !known.room.watches) void this.run();
        });
        this.share.addEventListener("click", () => void this.shared());
        this.on.append(...known.backends.map((name) => h("option", { value: name }, BACKENDS[name])));
        if (!known.backends.includes("linux"))
            this.on.append(h("option", { disabled: true }, "on this kernel: needs a server run by root"));
        this.on.addEventListener("change", () => void this.checked());
        this.elements = this.layout(known);
    }

    private layout(known: Known): HTMLElement[] {
        const { name, watches, shares } = known.room;
        const whose = watches ? "this page watches" : name;
        const fields = h(
            "details",
            { class: "fields-fold" },
            h("summary", {}, "All fields"),
            this.builder.element,
            this.estimate,
        );
        this.folds.set("All fields", fields);
        this.folds.set("Sweep a field", this.sweep.element);
        if (!known.serverless) this.folds.set("Recordings", this.recordings.element);
        this.folds.set("Scenario file", this.exchange.element);
        const open = [...this.folds].map(([label, fold]) =>
            h("button", { type: "button", class: "to", onclick: () => unfold(fold) }, label),
        );
        const head = h(
            "header",
            { class: "live-head" },
            h("h1", {}, "Dumbbell", whose ? h("small", {}, ` ${whose}`) : null),
            watches ? null : this.exchange.gallery,
            watches ? null : h("nav", { class: "actions", "aria-label": "Tools" }, ...open),
            themeButton(),
        );
        this.stop.hidden = true;
        const actions = h(
            "div",
            { class: "actions" },
            this.start,
            this.on,
            this.stop,
            this.again,
            this.keep,
            shares ? this.share : null,
            h("label", {}, this.isEager, "run when a handle moves"),
            this.screen.bar,
            this.screen.left,
        );
        const result = h(
            "section",
            { "aria-label": "Result" },
            watches ? null : actions,
            this.said,
            ...this.screen.elements,
        );
        const path = h(
            "section",
            { "aria-label": "Path" },
            this.builder.sketch.element,
            this.builder.sketch.editor,
        );
        const tools = h("section", { class: "tools", "aria-label": "Scenario" }, ...this.folds.values());
        const footer = h("footer", {}, `dumbbell ${known.version}.${watches ? "" : " Ctrl+Enter runs."}`);
        return watches ? [head, result, footer] : [head, path, result, tools, footer];
    }

    /** The scenario of the address, or one to begin with. */
    async begin(): Promise<void> {
        await this.screen.past.load();
        if (this.known.room.watches) return void this.followed();
        if (!(await this.exchange.fromAddress())) await this.checked();
        await this.run();
    }

    /** Shows what whoever runs the class runs, and goes on so. */
    private async followed(): Promise<void> {
        let shown = "";
        for (;;) {
            try {
                const { runs, jobs } = await api.runs();
                const job = jobs.at(-1)?.id;
                if (job) {
                    const number = ++this.starts;
                    await this.screen.watch(job, this.sweep.figure, () => number === this.starts);
                    shown = job;
                } else if (runs.length && runs[0].id !== shown) {
                    shown = runs[0].id;
                    await this.screen.past.load(shown);
                    await this.screen.compare();
                }
                this.said.textContent = shown ? "" : "Nothing has run yet: what runs is shown here.";
            } catch (error) {
                this.said.textContent = (error as Error).message;
            }
            await new Promise((done) => setTimeout(done, WATCH_MS));
        }
    }

    private async shared(): Promise<void> {
        try {
            const { chosen } = this.screen.past;
            for (const run of chosen) await api.share(run);
            this.screen.left.textContent = `All seats see ${chosen.join(", ")}.`;
        } catch (error) {
            this.refused(error as Error);
        }
    }

    private load(tables: Tables, base?: string): void {
        this.base = base;
        this.screen.renew();
        this.builder.load(tables);
        void this.checked();
    }

    /** A text: its fields are shown even where it is wrong, as far as it is TOML. */
    private async apply(toml: string, base?: string): Promise<boolean> {
        try {
            const found = await api.check({ toml, base });
            if (!found.tables) {
                this.said.textContent = found.errors.map((one) => one.text).join("\n");
                return false;
            }
            this.load(found.tables, base);
            return true;
        } catch (error) {
            this.said.textContent = (error as Error).message;
            return false;
        }
    }

    private changed(isHandle: boolean): void {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(
            async () => {
                const found = await this.checked();
                const isShort =
                    found && this.on.value === "sim" && found.packets! < AT_ONCE && found.runs === 1;
                if (isHandle && isShort && this.isEager.checked) await this.run();
            },
            isHandle ? WAIT_MS.handle : WAIT_MS.typing,
        );
    }

    private posted(): Posted {
        return { tables: this.builder.tables, base: this.base, on: this.on.value };
    }

    /** Asks the scenario itself; null where it is wrong, or something newer was asked. */
    private async checked(): Promise<Checked | null> {
        const number = ++this.checks;
        try {
            const found = await api.check(this.posted());
            if (number !== this.checks) return null;
            const rest = this.builder.say(found.errors);
            this.said.textContent = rest.map((one) => (one.key ? `${one.key}: ` : "") + one.text).join("\n");
            this.estimate.textContent = found.errors.length
                ? "Not run: see the messages beside the fields."
                : [
                      ...found.warnings.map((text) => `Note: ${text}`),
                      found.text?.split("\n").pop()?.trim(),
                  ].join("\n");
            this.exchange.show(this.posted(), found.toml);
            this.sweep.offer();
            this.start.disabled = found.errors.length > 0;
            return found.errors.length ? null : found;
        } catch (error) {
            this.said.textContent = (error as Error).message;
            return null;
        }
    }

    private seed(): void {
        const now = Number(this.builder.tables.seed ?? 1);
        this.builder.tables.seed = Number.isInteger(now) ? now + 1 : 1;
        this.builder.draw();
        void this.checked().then((found) => found && this.run());
    }

    /** Runs the scenario, or one that was made from it. */
    private async run(tables: Tables = this.builder.tables): Promise<void> {
        if (this.start.disabled) return;
        const number = ++this.starts;
        try {
            const { job } = await api.start({
                ...this.posted(),
                tables,
                instead: this.job ?? undefined,
            });
            if (number !== this.starts) {
                await api.cancel(job);
                return;
            }
            this.job = job;
            this.stop.disabled = this.stop.hidden = false;
            this.sweep.say([]);
            await this.screen.watch(job, this.sweep.figure, () => number === this.starts);
        } catch (error) {
            this.refused(error as Error);
        }
        if (number === this.starts) this.idle();
    }

    private refused(error: Error): void {
        const rest = error instanceof Refused ? this.sweep.say(error.errors) : [];
        const isElsewhere = error instanceof Refused && error.errors.length > rest.length;
        this.said.textContent = isElsewhere ? "" : error.message;
    }

    private idle(): void {
        this.job = null;
        this.stop.disabled = this.stop.hidden = true;
        this.screen.idle();
    }

    private async cancel(): Promise<void> {
        if (this.job) await api.cancel(this.job);
    }
}

/** Opens a fold and goes there. */
function unfold(fold: HTMLElement): void {
    fold.setAttribute("open", "");
    fold.scrollIntoView();
    fold.querySelector("summary")?.focus({ preventScroll: true });
}
