// Figures by Observable Plot: heading, drawing, buttons to save it, and its numbers as a table.
import * as Plot from "@observablehq/plot";
import { h, numbers, type Child } from "./dom";
import { buttons } from "./save";
import { ink, onTheme } from "./theme";

export interface Drawn {
    name: string;
    /** Draws it for a width in pixels. */
    plot(width: number): Plot.PlotOptions;
    heads: string[];
    rows(): string[][];
    legend?: Child;
    caption?: string;
}

export type Drawing = SVGSVGElement;

/** Plot's own SVG, with a description instead of what it draws for screen readers to walk through. */
export function drawn(options: Plot.PlotOptions, name: string): SVGSVGElement {
    const made = Plot.plot({
        style: {
            color: ink(),
            background: "transparent",
            fontSize: "12px",
            fontFamily: "system-ui, sans-serif",
        },
        ...options,
        figure: false,
    } as Plot.PlotOptions) as unknown as SVGSVGElement;
    made.querySelectorAll("[aria-label], [aria-description]").forEach((part) => {
        part.removeAttribute("aria-label");
        part.removeAttribute("aria-description");
    });
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", name);
    return made;
}

export function figure(one: Drawn): HTMLElement {
    const place = h("div", { class: "drawing" });
    const width = () => Math.max(280, Math.min(place.clientWidth || 900, 1100));
    const make = () => drawn(one.plot(width()), one.name);
    const draw = () => place.replaceChildren(make());
    const savable = { name: one.name, svg: make, heads: () => one.heads, rows: one.rows };
    onTheme(draw);
    let seen = 0;
    new ResizeObserver(() => {
        if (width() !== seen) {
            seen = width();
            draw();
        }
    }).observe(place);
    const head = h("div", { class: "head" }, h("h3", {}, one.name), buttons(savable));
    const caption = one.caption ? h("figcaption", {}, one.caption) : null;
    return h("figure", {}, head, one.legend, place, caption, numbers(one.name, one.heads, one.rows));
}

/** Pixels of a letter and of a line of text. */
const LETTER = 6.8;
const LINE = 18;

/** Names of the rows of a plot, each `base` pixels high: at the axis, or above their rows where they would leave less
 * than two thirds of the width to it. What is drawn in a row begins `above` pixels below its top.
 */
export function rowNames(names: string[], width: number, base: number) {
    const y = { type: "band" as const, domain: names, label: null, padding: 0 };
    const longest = LETTER * Math.max(...names.map((name) => name.length));
    if (16 + longest <= width / 3) return { high: base, above: 0, marginLeft: 16 + longest, y, marks: [] };
    const above = LINE * Math.ceil((1.2 * longest) / (width - 24));
    const text = Plot.text(names, {
        y: (name: string) => name,
        text: (name: string) => name,
        frameAnchor: "left",
        lineAnchor: "bottom",
        lineWidth: (width - 24) / 14,
        dy: (above - base) / 2 - 4,
        fill: ink(),
    });
    return { high: base + above, above, marginLeft: 12, y: { ...y, axis: null }, marks: [text] };
}

/** A sample of a line for a legend: colour, dash, symbol are told apart without colour too. */
export function key(label: string, colour: string, dash: number[] = [], thick = 2): HTMLElement {
    const made = h("span", { class: "key" });
    const space = "http://www.w3.org/2000/svg";
    const sample = document.createElementNS(space, "svg");
    sample.setAttribute("width", "28");
    sample.setAttribute("height", "10");
    sample.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(space, "line");
    for (const [name, value] of Object.entries({
        x1: 0,
        x2: 28,
        y1: 5,
        y2: 5,
        stroke: colour,
        "stroke-width": thick,
    }))
        line.setAttribute(name, String(value));
    line.setAttribute("stroke-dasharray", dash.map((part) => part * 2).join(" "));
    sample.append(line);
    made.append(sample, label);
    return made;
}
