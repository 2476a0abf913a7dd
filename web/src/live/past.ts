// Runs that are finished: which of them lie over each other, and their report.
import { h } from "../dom";
import { api, type Known, type Link } from "./api";

/** Runs that are drawn over each other at most, and runs in the list. */
const TOGETHER = 4;
const LISTED = 20;

export class Past {
    readonly element = h("div", { class: "past" });
    chosen: string[] = [];
    private names: { id: string; runs: number; created: string }[] = [];

    constructor(
        private readonly known: Known,
        private readonly changed: () => void,
    ) {}

    /** The list as the server has it; `latest` is chosen beside what was kept. */
    async load(latest?: string): Promise<void> {
        this.names = (await api.runs()).runs;
        if (latest) this.chosen = [...this.kept.filter((one) => one !== latest), latest].slice(-TOGETHER);
        this.draw();
    }

    private get kept(): string[] {
        return this.chosen.filter((one) => this.pinned.has(one));
    }

    /** What is on screen stays there beside the next run. */
    keep(): void {
        this.chosen.forEach((id) => this.pinned.add(id));
    }

    isPinned(id: string): boolean {
        return this.pinned.has(id);
    }

    private readonly pinned = new Set<string>();

    private draw(): void {
        const boxes = this.names.slice(0, LISTED).map(({ id, runs, created }) => {
            const box = h("input", { type: "checkbox", checked: this.chosen.includes(id) });
            box.addEventListener("change", () => this.choose(id, box.checked));
            return h("label", { title: created }, box, runs > 1 ? `${id} (${runs} runs)` : id);
        });
        const made = api.links(this.chosen).map(linked);
        const isOpen = this.element.querySelector("details")?.open ?? false;
        const links = this.chosen.length
            ? h("p", {}, ...made.flatMap((one, i) => (i ? [" · ", one] : [one])))
            : null;
        const list = h(
            "details",
            { open: isOpen },
            h("summary", {}, `Finished runs: ${this.names.length}, ${this.chosen.length} on screen`),
            h("fieldset", { class: "runs" }, h("legend", {}, "One over the other"), ...boxes),
        );
        list.append(h("p", { class: "note" }, this.room()));
        this.element.replaceChildren(list, ...(links ? [links] : []));
    }

    private room(): string {
        if (this.known.serverless)
            return "The runs are in the memory of this tab, and gone with it: save those that you want to keep.";
        const { folders, disk_bytes: bytes } = this.known.keep;
        return `The folder keeps ${folders} scenarios and ${(bytes / 2 ** 30).toPrecision(2)} GiB: beyond that the oldest are removed, but none that is on screen.`;
    }

    private choose(id: string, isOn: boolean): void {
        this.chosen = this.chosen.filter((one) => one !== id);
        this.pinned.delete(id);
        if (isOn) {
            this.pinned.add(id);
            this.chosen = [...this.chosen, id].slice(-TOGETHER);
        }
        const focused = [...this.element.querySelectorAll("input")].indexOf(
            document.activeElement as HTMLInputElement,
        );
        this.draw();
        this.element.querySelectorAll("input")[focused]?.focus();
        this.changed();
    }
}

function linked({ text, go }: Link): HTMLElement {
    return typeof go === "string"
        ? h("a", { href: go, target: "_blank", rel: "noopener" }, text)
        : h("button", { type: "button", onclick: go }, text);
}
