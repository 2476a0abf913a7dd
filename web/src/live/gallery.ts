// The gallery: scenarios that come with the package, and the figures of the papers, searched and loaded.
import { choice, h } from "../dom";
import { api, type Figure, type FigureCases, type Known, type Paper, type Tables } from "./api";

interface Calls {
    /** A scenario of the gallery, by its name. */
    gallery(name: string): Promise<void>;
    load(tables: Tables): void;
    say(text: string): void;
}

export class Gallery {
    readonly button: HTMLElement;
    readonly element: HTMLDialogElement;
    private readonly search = h("input", {
        type: "text",
        placeholder: "Search",
        "aria-label": "Search for a word",
    });
    private readonly list = h("div", { class: "shelf" });
    private papers: Paper[] | null = null;

    constructor(
        private readonly known: Known["gallery"],
        private readonly calls: Calls,
    ) {
        this.button = h("button", { type: "button", onclick: () => void this.open() }, "Gallery");
        this.search.addEventListener("input", () => this.draw());
        const close = h("button", { type: "button", onclick: () => this.element.close() }, "Close");
        const head = h("div", { class: "actions" }, h("h2", {}, "Gallery"), this.search, close);
        this.element = h(
            "dialog",
            { class: "gallery", "aria-label": "All scenarios and figures" },
            head,
            this.list,
        );
    }

    private async open(): Promise<void> {
        this.element.showModal();
        this.search.focus();
        this.draw();
        if (this.papers) return;
        try {
            this.papers = (await api.papers()).papers;
        } catch (error) {
            this.calls.say((error as Error).message);
        }
        this.draw();
    }

    private draw(): void {
        const word = this.search.value.trim().toLowerCase();
        const has = (...texts: string[]) => texts.join(" ").toLowerCase().includes(word);
        const scenarios = this.known.filter((one) => has(one.name, one.summary));
        const entries = scenarios.map((one) =>
            this.entry(one.name, one.summary, () => {
                this.element.close();
                return this.calls.gallery(one.name);
            }),
        );
        const papers = (this.papers ?? []).flatMap((paper) => {
            const figures = paper.figures.filter((one) => has(paper.title, one.id, one.item, one.title));
            return figures.length ? [this.paper(paper, figures, word !== "")] : [];
        });
        const none = entries.length + papers.length ? null : h("p", {}, "Nothing has this word.");
        this.list.replaceChildren(
            ...(entries.length ? [h("h3", {}, "Scenarios"), h("ul", {}, ...entries)] : []),
            ...(papers.length ? [h("h3", {}, "Figures of the papers"), ...papers] : []),
            ...(none ? [none] : []),
        );
    }

    private entry(name: string, text: string, chosen: () => Promise<void>): HTMLElement {
        const button = h("button", { type: "button", onclick: () => void chosen() }, name);
        return h("li", {}, button, " ", text);
    }

    private paper(paper: Paper, figures: Figure[], isOpen: boolean): HTMLElement {
        const items = figures.map((one) => {
            const place = h("div", {});
            const item = this.entry(one.item, one.title, () => this.figure(one.id, place));
            item.append(place);
            return item;
        });
        return h(
            "details",
            { open: isOpen },
            h("summary", {}, `${paper.title}: ${figures.length}`),
            h("ul", {}, ...items),
        );
    }

    /** What a figure claims, and which of its cases is to be loaded. */
    private async figure(id: string, place: HTMLElement): Promise<void> {
        if (place.childElementCount) return place.replaceChildren();
        try {
            place.replaceChildren(this.cases(await api.figure(id)));
        } catch (error) {
            place.replaceChildren(h("p", { class: "wrong" }, (error as Error).message));
        }
    }

    private cases(one: FigureCases): HTMLElement {
        let at = 0;
        const labels = one.cases.map(({ label }) => label);
        const load = () => {
            this.element.close();
            this.calls.load(one.cases[at].tables);
        };
        const button = h("button", { type: "button", class: "main", onclick: load }, "Load this case");
        const open = one.not_stated.length
            ? h("p", { class: "note" }, `The paper does not say: ${one.not_stated.join("; ")}.`)
            : null;
        return h(
            "div",
            { class: "figure-cases" },
            h("ul", {}, ...one.claims.map((text) => h("li", {}, text))),
            open,
            labels.length
                ? h(
                      "div",
                      { class: "actions" },
                      choice("Case", labels, (i) => (at = i)),
                      button,
                  )
                : null,
            h(
                "p",
                { class: "note" },
                labels.length ? "In the short form of " : "It is drawn from the runs of other figures: ",
                h("code", {}, `dumbbell reproduce ${one.id} --fast`),
                ", which runs all cases, draws the figure and judges its claims.",
            ),
        );
    }
}
