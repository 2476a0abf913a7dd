// The scenario on the page: its tables as a file has them, so that what the fields do not know stays as it is.
import type { Tables } from "./api";

export const FIRST: Tables = {
    name: "live",
    duration: "20s",
    path: { rate: "40Mbps", rtt: "40ms", buffer: "1bdp" },
    flow: [{ cca: "cubic" }, { cca: "bbr", start: "137ms" }],
};

function steps(key: string): (string | number)[] {
    return key.split(".").flatMap((part) => {
        const found = /^(.*?)\[(\d+)\]$/.exec(part);
        return found ? [found[1], Number(found[2])] : [part];
    });
}

/** What stands at a key such as flow[1].cca; undefined where nothing does. */
export function read(tables: Tables, key: string): unknown {
    return steps(key).reduce((at: any, step) => at?.[step], tables);
}

/** Writes it; undefined takes the key away, and a table that is empty then. */
export function write(tables: Tables, key: string, value: unknown): void {
    const path = steps(key);
    const last = path.pop()!;
    let at: any = tables;
    for (const step of path) {
        if (typeof at[step] !== "object") {
            if (value === undefined) return;
            at[step] = {};
        }
        at = at[step];
    }
    if (value !== undefined) at[last] = value;
    else if (at) delete at[last];
    const above = key.slice(0, key.lastIndexOf("."));
    if (value === undefined && above && above !== "path" && !above.endsWith("]") && !Object.keys(at).length)
        write(tables, above, undefined);
}

/** A value as a field shows it: what is no plain text or number as JSON, which can be edited too. */
export function shownValue(value: unknown): string {
    if (value === undefined) return "";
    return typeof value === "string" ? value : JSON.stringify(value);
}

/** The reverse. Numbers without a unit stay numbers; the scenario says what it thinks of them. */
export function taken(text: string): unknown {
    const bare = text.trim();
    if (!bare) return undefined;
    if (/^[[{]/.test(bare))
        try {
            return JSON.parse(bare);
        } catch {
            return bare;
        }
    return /^-?\d+(\.\d+)?$/.test(bare) ? Number(bare) : bare;
}
