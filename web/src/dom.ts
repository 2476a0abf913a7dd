// Elements from names, attributes and children. Text is always text: nothing of the data is ever read as HTML.

export type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

const SVG = "http://www.w3.org/2000/svg";

function filled<E extends Element>(made: E, attributes: Attributes, children: Child[]): E {
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") made.addEventListener(name.slice(2), value);
        else if (value === true) made.setAttribute(name, "");
        else if (value !== false) made.setAttribute(name, String(value));
    }
    made.append(...children.filter((child): child is Node | string => child != null));
    return made;
}

export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Attributes = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    return filled(document.createElement(tag), attributes, children);
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
    return filled(document.createElementNS(SVG, tag) as SVGElement, attributes, children);
}

/** A select with its label; `chosen` is called with the number of the option. */
export function choice(label: string, options: string[], chosen: (index: number) => void): HTMLElement {
    const select = h("select", { onchange: () => chosen(select.selectedIndex) });
    select.append(...options.map((text) => h("option", {}, text)));
    return h("label", { class: "choice" }, h("span", {}, label), select);
}

/** A table whose wide content scrolls by itself, reachable by keyboard. */
export function scrolled(name: string, table: HTMLElement): HTMLElement {
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, table);
}

const NUMBER = /^[-+±]?\d/;

/** A plain table; the first cell of each row names it. Numbers stand at the right, and so do their headings. */
export function plain(caption: string, heads: string[], rows: string[][]): HTMLTableElement {
    const kinds = heads.map((_, i) => ({
        class: i && rows.every((row) => !row[i] || NUMBER.test(row[i])) ? "" : "word",
    }));
    const body = rows.map((row) =>
        h("tr", {}, ...row.map((cell, i) => (i ? h("td", kinds[i], cell) : h("th", { scope: "row" }, cell)))),
    );
    const head = h("tr", {}, ...heads.map((text, i) => h("th", { scope: "col", ...kinds[i] }, text)));
    const named = caption ? h("caption", {}, h("span", {}, caption)) : null;
    return h("table", {}, named, h("thead", {}, head), h("tbody", {}, ...body));
}

/** The numbers of a figure for those who do not see it; made when it is first opened. */
export function numbers(name: string, heads: string[], rows: () => string[][]): HTMLElement {
    const details = h("details", { class: "numbers" }, h("summary", {}, `Numbers of: ${name}`));
    details.addEventListener("toggle", () => {
        if (details.open && details.childElementCount === 1)
            details.append(scrolled(name, plain(name, heads, rows())));
    });
    return details;
}
