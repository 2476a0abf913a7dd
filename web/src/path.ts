// The path as a drawing: senders at the left, links with their queues, receivers, the way back below.
import { h, svg, type Child } from "./dom";
import { faint, ink, onTheme, shown } from "./theme";
import type { Link, Looks, Path } from "./types";

/** Measures of the drawing: letters, height of a sender, length of a link, where the first link begins, the end. */
interface Space {
    letter: number;
    row: number;
    step: number;
    left: number;
    end: number;
    /** Senders have a line for each fact. */
    isNarrow: boolean;
}

/** Below this the drawing is narrow, so that a path of one link fits a phone. */
const NARROW = 560;
/** What is wider than its place by this is made smaller; more, and it scrolls, since nobody could read it. */
const SHRINK = 1.25;

function spaceOf(one: Path, width: number): Space {
    const isNarrow = width < NARROW;
    const letter = isNarrow ? 6.2 : 7.2;
    const lines = one.senders
        .slice(0, 8)
        .flatMap((sender) => [sender.label, ...facts(sender, one, isNarrow)]);
    const text = Math.max(0, ...lines.map((line) => line.length)) * letter;
    const rows = Math.max(1, ...one.senders.map((sender) => facts(sender, one, isNarrow).length));
    return isNarrow
        ? { letter, row: 20 + 15 * rows, step: 124, left: text + 66, end: 100, isNarrow }
        : { letter, row: 40, step: 200, left: text + 100, end: 150, isNarrow };
}

function facts(sender: Path["senders"][number], one: Path, isNarrow: boolean): string[] {
    const all = [sender.rtt, sender.start, wayOf(sender, one)].filter(Boolean);
    return isNarrow ? all : [all.join(", ")];
}

export function path(one: Path, looks: Looks): HTMLElement {
    const place = h("div", {
        class: "drawing scroll",
        tabindex: 0,
        role: "region",
        "aria-label": `Path of ${one.name}`,
    });
    let width = 0;
    const draw = () => place.replaceChildren(drawing(one, spaceOf(one, width), looks, width));
    onTheme(draw);
    new ResizeObserver(() => {
        if (width !== place.clientWidth) {
            width = place.clientWidth;
            draw();
        }
    }).observe(place);
    const varies = one.varies.length
        ? h("p", {}, `Varied: ${one.varies.join("; ")}. The drawing shows the first.`)
        : null;
    return h("figure", {}, place, h("figcaption", {}, one.caption), varies);
}

function words(x: number, y: number, lines: string[], anchor = "middle"): SVGElement {
    const spans = lines
        .filter(Boolean)
        .map((line, i) => svg("tspan", { x, dy: i ? "1.25em" : 0, "font-weight": i ? 400 : 600 }, line));
    return svg("text", { x, y, "text-anchor": anchor, fill: ink() }, ...spans);
}

function drawing(one: Path, space: Space, looks: Looks, room: number): SVGElement {
    const { row, step, left } = space;
    const senders = one.senders.slice(0, 8);
    const more = one.senders.length - senders.length;
    const high = Math.max(senders.length * row, 80) + (more > 0 ? 20 : 0);
    const middle = 16 + high / 2;
    const right = left - 4 + one.links.length * step;
    const width = right + space.end;
    const down = middle + Math.max(high / 2, 50) + 14;
    const parts: Child[] = senders.flatMap((sender, i) => {
        const y = 16 + row / 2 + i * ((high - (more > 0 ? 20 : 0)) / senders.length);
        const colour = shown(sender.colour);
        const from = left - (space.isNarrow ? 48 : 64);
        // What a flow sends up comes from the other end, with the acknowledgements of the others.
        const first = sender.over[0] ?? 0;
        const [to, at] = sender.up ? [from, down - 12] : [left + first * step, middle];
        // Past the links that it does not cross, above them.
        const above = Math.max(middle - 52, 4);
        const around = first && !sender.up ? `L${left - 24},${above} L${to - 24},${above} ` : "";
        const told = facts(sender, one, space.isNarrow);
        return [
            svg("path", {
                d: `M${from},${y} ${around}L${to},${at}`,
                fill: "none",
                stroke: colour,
                "stroke-width": 2,
                "stroke-dasharray": sender.up ? "5 4" : "none",
            }),
            svg("circle", { cx: from, cy: y, r: 6, fill: colour }),
            words(from - 14, y - 2 - (told.length - 1) * 7, [sender.label, ...told], "end"),
        ];
    });
    if (more > 0) parts.push(words(left - 78, high + 8, [`and ${more} more`], "end"));
    one.links.forEach((link, i) => parts.push(...linkDrawn(link, left + i * step, middle, step, looks)));
    parts.push(
        svg("circle", { cx: right + 20, cy: middle, r: 8, fill: ink() }),
        words(right + 36, middle + 4, ["receivers"], "start"),
    );
    parts.push(...back(one, left, right + 20, middle, down));
    const shrunk = width > room && width <= SHRINK * room ? room : width;
    const name = `${one.caption}. ${one.varies.join("; ")}`;
    return svg(
        "svg",
        {
            viewBox: `0 0 ${width} ${down + 34}`,
            width: shrunk,
            height: ((down + 34) * shrunk) / width,
            role: "img",
            "aria-label": name,
            class: space.isNarrow ? "path narrow" : "path",
        },
        ...parts,
    );
}

/** Which way a sender's data go, where not all of them go down over all links. */
function wayOf(sender: Path["senders"][number], one: Path): string {
    const links = sender.up ? one.back : one.links;
    const over = sender.over.map((i) => links[i]?.name).join(" and ");
    if (sender.up) return `up${over ? ` over ${over}` : ""}`;
    return sender.over.length < one.links.length ? `over ${over}` : "";
}

/** A queue filling from the left, and the line that it feeds. */
function linkDrawn(link: Link, x: number, middle: number, step: number, looks: Looks): Child[] {
    const bars = [0, 1, 2, 3, 4].map((i) =>
        svg("rect", {
            x: x + 14 + i * 9,
            y: middle - 14,
            width: 6,
            height: 28,
            fill: i > 1 ? shown(looks.queue) : faint(),
        }),
    );
    const frame = `M${x + 8},${middle - 18} H${x + 62} V${middle + 18} H${x + 8}`;
    return [
        svg("path", { d: frame, fill: "none", stroke: ink(), "stroke-width": 1.5 }),
        ...bars,
        svg("line", {
            x1: x + 62,
            y1: middle,
            x2: x + step + 12,
            y2: middle,
            stroke: ink(),
            "stroke-width": 3,
        }),
        words(x + step / 2 + 38, middle - 26, [link.rate]),
        words(x + step / 2 + 38, middle + 20, [link.name, link.queue, link.policer]),
    ];
}

function back(one: Path, left: number, right: number, middle: number, down: number): Child[] {
    const line = `M${right},${middle + 8} V${down} H${left - 48} V${down - 12}`;
    const links = one.back.map((link) => `${link.name}: ${link.rate}, ${link.queue}`);
    const also = one.impairments.length ? [`on the way down: ${one.impairments.join(", ")}`] : [];
    const what = one.senders.some((sender) => sender.up) ? "what goes up" : "acknowledgements";
    const text = [`${what}${links.length ? ` over ${links.join("; ")}` : ""}`, ...also].join(" · ");
    const label = svg(
        "text",
        { x: (right + left) / 2, y: down + 20, "text-anchor": "middle", fill: ink() },
        text,
    );
    return [svg("path", { d: line, fill: "none", stroke: ink(), "stroke-dasharray": "5 4" }), label];
}
