// A figure as PNG, SVG or CSV.
import { h } from "./dom";
import { paper } from "./theme";

/** What a figure can be saved as: its drawing, and its numbers with their headings. */
export interface Savable {
    name: string;
    svg(): SVGSVGElement;
    heads(): string[];
    rows(): string[][];
}

export function buttons(figure: Savable): HTMLElement {
    const button = (kind: string, write: () => void) =>
        h(
            "button",
            {
                type: "button",
                "aria-label": `Save ${figure.name} as ${kind}`,
                onclick: () => (write(), (menu.open = false)),
            },
            kind,
        );
    const menu = h(
        "details",
        { class: "save", "aria-label": `Save ${figure.name}` },
        h("summary", {}, "Save"),
        h(
            "div",
            {},
            button("PNG", () => png(figure)),
            button("SVG", () =>
                download(new Blob([text(figure.svg())], { type: "image/svg+xml" }), figure.name, "svg"),
            ),
            button("CSV", () => download(new Blob([csv(figure)], { type: "text/csv" }), figure.name, "csv")),
        ),
    );
    menu.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        menu.open = false;
        menu.querySelector("summary")!.focus();
    });
    menu.addEventListener("focusout", (event) => {
        if (!menu.contains(event.relatedTarget as Node | null)) menu.open = false;
    });
    return menu;
}

export function csv(figure: Savable): string {
    return [figure.heads(), ...figure.rows()].map((row) => row.map(field).join(",")).join("\n") + "\n";
}

/** Quoted where it must be; a text that a spreadsheet would take for a formula is kept a text. */
function field(cell: string): string {
    const safe = /^[=+@\t]|^-(?![\d.])/.test(cell) ? `'${cell}` : cell;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function text(drawing: SVGSVGElement): string {
    drawing.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    return new XMLSerializer().serializeToString(drawing);
}

function png(figure: Savable): void {
    const drawing = figure.svg();
    const [wide, high] = [Number(drawing.getAttribute("width")), Number(drawing.getAttribute("height"))];
    const image = new Image();
    image.onload = () => {
        const canvas = h("canvas", { width: wide * 2, height: high * 2 });
        const context = canvas.getContext("2d")!;
        context.fillStyle = paper();
        context.fillRect(0, 0, canvas.width, canvas.height);
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => blob && download(blob, figure.name, "png"));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text(drawing))}`;
}

function download(blob: Blob, name: string, suffix: string): void {
    const file = name.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "figure";
    const link = h("a", { href: URL.createObjectURL(blob), download: `${file}.${suffix}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
