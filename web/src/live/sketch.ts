// The path as a drawing that is the builder: each part is a button that opens its fields in place.
import { h, svg } from "../dom";
import { read, shownValue } from "./scenario";
import type { Tables } from "./api";

/** A part: its name, what it says now, and the fields that it opens, which stand in the form otherwise. */
export interface Part {
    id: string;
    name: string;
    /** Among the senders, on the way, or beside it. */
    place: "flow" | "way" | "beside";
    lines: string[];
    fields: () => HTMLElement[];
}

/** Letters of a value in the drawing. */
const LETTERS = 22;

export class Sketch {
    readonly element = h("div", {
        class: "sketch",
        role: "group",
        "aria-label": "Path: choose a part to change it",
    });
    readonly editor = h("div", { class: "part-editor", id: "part-editor", role: "group" });
    private open = "";
    /** Fields that are in the editor, and what stands where they came from. */
    private moved: [HTMLElement, Comment][] = [];
    private parts: Part[] = [];
    private readonly buttons = new Map<string, HTMLButtonElement>();

    constructor(private readonly add: () => void) {
        this.editor.hidden = true;
        this.editor.addEventListener("keydown", (event) => {
            if (event.key === "Escape") this.choose("");
        });
    }

    /** All parts: flows first, then what is on the way. Fields were made again, so what is open opens again. */
    draw(parts: Part[]): void {
        const open = parts.some((one) => one.id === this.open) ? this.open : "";
        this.moved = [];
        this.editor.replaceChildren();
        this.editor.hidden = true;
        this.open = "";
        this.parts = parts;
        this.buttons.clear();
        const focused = (document.activeElement as HTMLElement | null)?.dataset?.part;
        const more = h("button", { type: "button", class: "add", onclick: this.add }, "+ flow");
        const wire = () => h("span", { class: "wire", "aria-hidden": "true" });
        const drawn = (place: Part["place"]) =>
            parts.filter((one) => one.place === place).map((one) => this.button(one));
        const way = drawn("way").flatMap((button) => [wire(), button]);
        const end = h("span", { class: "receivers" }, "receivers");
        this.element.replaceChildren(
            h("div", { class: "senders" }, ...drawn("flow"), more),
            ...way,
            wire(),
            end,
            ...drawn("beside"),
        );
        if (open) this.choose(open);
        if (focused) this.buttons.get(focused)?.focus();
    }

    /** What the parts say now. */
    say(parts: Part[]): void {
        for (const one of parts) {
            const place = this.buttons.get(one.id)?.querySelector(".lines");
            if (place) place.replaceChildren(...lines(one));
        }
    }

    /** Opens the part that has a field, if one has. */
    reveal(field: HTMLElement): boolean {
        if (this.editor.contains(field)) return true;
        const part = this.parts.find((one) => one.fields().some((frame) => frame.contains(field)));
        if (part) this.choose(part.id);
        return part !== undefined;
    }

    private button(one: Part): HTMLButtonElement {
        const button = h(
            "button",
            {
                type: "button",
                class: `part ${one.place}`,
                "data-part": one.id,
                "aria-expanded": "false",
                "aria-controls": "part-editor",
                onclick: () => this.choose(this.open === one.id ? "" : one.id),
            },
            icon(one.id),
            h("span", { class: "unseen" }, `${one.name}: `),
            h("span", { class: "lines" }, ...lines(one)),
        );
        this.buttons.set(one.id, button);
        return button;
    }

    /** Opens a part, or none; the fields of the one before go back into the form. */
    private choose(id: string): void {
        for (const [frame, place] of this.moved) place.replaceWith(frame);
        this.moved = [];
        this.editor.replaceChildren();
        const before = this.open;
        this.open = id;
        this.buttons.forEach((button, of) => button.setAttribute("aria-expanded", String(of === id)));
        const part = this.parts.find((one) => one.id === id);
        this.editor.hidden = !part;
        if (!part) {
            if (before) this.buttons.get(before)?.focus();
            return;
        }
        for (const frame of part.fields()) {
            const place = document.createComment("");
            frame.replaceWith(place);
            this.moved.push([frame, place]);
            this.editor.append(frame);
        }
        this.editor.setAttribute("aria-label", part.name);
        const done = h("button", { type: "button", onclick: () => this.choose("") }, "Done");
        this.editor.append(done);
        this.editor.querySelector<HTMLElement>("input, select")?.focus({ preventScroll: true });
    }
}

function lines(one: Part): HTMLElement[] {
    return one.lines.map((text, i) =>
        h(i ? "span" : "b", {}, text.length > LETTERS ? `${text.slice(0, LETTERS)}…` : text),
    );
}

/** What a part looks like; its words say the same. */
function icon(id: string): SVGElement | null {
    const shapes: Record<string, SVGElement[]> = {
        queue: [
            svg("path", { d: "M2,3 H42 V21 H2" }),
            ...[12, 20, 28, 35].map((x) => svg("rect", { x, y: 6, width: 5, height: 12, class: "packet" })),
        ],
        rate: [svg("path", { d: "M0,12 H44", class: "thick" })],
        delay: [svg("path", { d: "M2,12 H42 M36,6 L42,12 L36,18 M8,6 L2,12 L8,18" })],
        loss: [svg("path", { d: "M0,12 H16 M28,12 H44 M17,7 L27,17 M27,7 L17,17" })],
    };
    const found = shapes[id];
    return found
        ? svg("svg", { viewBox: "0 0 44 24", width: 44, height: 24, "aria-hidden": "true" }, ...found)
        : null;
}

/** A value of the scenario in a few words; `usual` where there is none. */
export function said(tables: Tables, key: string, usual: string): string {
    const value = read(tables, key);
    if (value === undefined) return usual;
    if (Array.isArray(value)) return `${value.length} values`;
    if (typeof value === "object") return "trace" in value! ? "a recording" : "a range or table";
    return shownValue(value);
}
