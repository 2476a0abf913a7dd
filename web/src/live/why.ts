// Why flows got what they got: of the finished runs on screen, and of a time that was clicked in a chart.
import { mark } from "../ask";
import { h, type Child } from "../dom";
import { api, type Said } from "./api";

/** A handle that moves starts many runs: the last one is explained. */
const WAIT_MS = 500;

/** A run on screen: its folder, its number there, and what it is called beside others. */
export interface Shown {
    run: string;
    number: number;
    label: string;
}

export class Why {
    /** Of the whole runs. */
    readonly whole = h("div", { class: "why", "aria-live": "polite" });
    /** Of a time: it stays at the bottom of the window while charts are in it. */
    readonly here = h("div", {
        class: "why-here",
        role: "region",
        "aria-label": "Why there",
        "aria-live": "polite",
        tabindex: 0,
        hidden: true,
    });
    private runs: Shown[] = [];
    /** Counts what was asked: an answer that comes late is not shown. */
    private asked = 0;
    private timer = 0;

    /** Another run is on its way, or on screen. */
    clear(): void {
        this.asked++;
        clearTimeout(this.timer);
        this.runs = [];
        this.whole.replaceChildren();
        this.close();
    }

    /** These runs are on screen. */
    show(runs: Shown[]): void {
        this.clear();
        this.runs = runs;
        this.timer = window.setTimeout(() => void this.ofRuns(), WAIT_MS);
    }

    private async ofRuns(): Promise<void> {
        const told = await this.told();
        if (!told) return;
        const hint = h("p", { class: "note" }, "Click a time in a chart to ask why there.");
        this.whole.replaceChildren(...told, hint);
    }

    /** What is at work about a time, in the runs on screen. */
    readonly ask = async (time: number): Promise<void> => {
        if (!this.runs.length) return;
        const at = Math.max(0, Number(time < 10 ? time.toPrecision(3) : time.toFixed(2)));
        mark(at);
        const close = h(
            "button",
            { type: "button", "aria-label": "Close", onclick: () => this.close() },
            "\u00d7",
        );
        const head = h("div", { class: "head" }, h("strong", {}, `Why at ${at} s?`), close);
        this.here.hidden = false;
        this.here.replaceChildren(head, h("p", {}, "\u2026"));
        const told = await this.told(at);
        if (told) this.here.replaceChildren(head, ...told);
    };

    private close(): void {
        this.here.hidden = true;
        mark(null);
    }

    /** Paragraphs on the runs, one after the other; null where something newer was asked. */
    private async told(at?: number): Promise<HTMLElement[] | null> {
        const number = at === undefined ? this.asked : ++this.asked;
        const made: HTMLElement[] = [];
        for (const { run, number: place, label } of this.runs) {
            const said = await api
                .why(run, place, at)
                .catch((error: Error): Said => ({ sentences: [], note: error.message }));
            if (number !== this.asked) return null;
            const head = at === undefined ? ["Why", label].filter(Boolean).join(", ") : label;
            made.push(...paragraphs(head, said, at !== undefined));
        }
        return made;
    }
}

/** One paragraph on a run; on a time one for each sentence, because flows have times of their own. */
function paragraphs(head: string, { sentences, note }: Said, isApart: boolean): HTMLElement[] {
    const texts = isApart ? sentences : sentences.length ? [sentences.join(" ")] : [];
    const strong: Child = head ? h("strong", {}, `${head}: `) : null;
    return [
        ...texts.map((text, i) => h("p", {}, i ? null : strong, text)),
        ...(note ? [h("p", { class: "note" }, texts.length ? null : strong, note)] : []),
    ];
}
