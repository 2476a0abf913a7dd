// A scenario as the fragment of an address, with the recordings that it names.
import type { Tables } from "./api";

export interface Linked {
    tables: Tables;
    base?: string;
    /** Recordings by the path that the tables have for them. */
    files: Record<string, string>;
}

/** Letters of a link: browsers take 2 MiB. */
const LINK_MAX = 1 << 20;
/** Letters of all recordings of a link, so that a short link cannot fill the memory. */
const FILES_MAX = 16 << 20;

/** The fragment of a scenario that names no recording, or is for this server. */
export function packed(tables: Tables, base: string | undefined): string {
    return `#scenario=${letters(new TextEncoder().encode(JSON.stringify({ tables, base })))}`;
}

/** What is added to the fragment so that the recordings come along; an error where they are too much for a link. */
export async function packedFiles(files: Record<string, string>): Promise<string> {
    const whole = new Blob([JSON.stringify(files)]).stream();
    const text = letters(await bytes(whole.pipeThrough(new CompressionStream("deflate-raw")), Infinity));
    if (text.length > LINK_MAX)
        throw new Error(
            `The recordings are too long for a link: ${text.length} letters, at most ${LINK_MAX}. ` +
                "Send the scenario and the recordings as files.",
        );
    return `&recordings=${text}`;
}

/** What a link holds; null for a text that is none. An error where it cannot be read. */
export async function unpacked(text: string): Promise<Linked | null> {
    const found = /#scenario=([\w-]+)(?:&recordings=([\w-]*))?/.exec(text);
    if (!found) return null;
    let made;
    try {
        made = JSON.parse(new TextDecoder().decode(raw(found[1])));
    } catch {
        made = null;
    }
    if (typeof made?.tables !== "object" || !made.tables)
        throw new Error("The scenario of this link cannot be read: is it whole?");
    return { ...made, files: found[2] === undefined ? {} : await unpackedFiles(found[2]) };
}

async function unpackedFiles(text: string): Promise<Record<string, string>> {
    let files: unknown;
    try {
        const whole = new Blob([raw(text)]).stream();
        const plain = await bytes(whole.pipeThrough(new DecompressionStream("deflate-raw")), FILES_MAX);
        files = JSON.parse(new TextDecoder().decode(plain));
    } catch {
        files = null;
    }
    const isMade = typeof files === "object" && files && !Array.isArray(files);
    if (!isMade || Object.values(files as object).some((one) => typeof one !== "string"))
        throw new Error("The recordings of this link cannot be read: is it whole?");
    return files as Record<string, string>;
}

/** Where the server keeps recordings, in its folder of results. */
const FOLDER = "recordings/";

/** The plain name of a recording. */
export function nameOf(path: string): string {
    return path.replace(FOLDER, "");
}

/** All places of the tables that name a recording of the server's folder. */
export function recorded(at: unknown): { trace: string }[] {
    if (typeof at !== "object" || !at) return [];
    const { trace } = at as { trace?: unknown };
    const here = typeof trace === "string" && trace.startsWith(FOLDER) ? [at as { trace: string }] : [];
    return [...here, ...Object.values(at).flatMap(recorded)];
}

async function bytes(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    const reader = stream.getReader();
    for (let count = 0; ;) {
        const { done, value } = await reader.read();
        if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
        count += value.length;
        if (count > most) {
            void reader.cancel();
            throw new Error("too long");
        }
        parts.push(value as Uint8Array<ArrayBuffer>);
    }
}

function letters(data: Uint8Array): string {
    const text = btoa(Array.from(data, (one) => String.fromCharCode(one)).join(""));
    return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function raw(text: string): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
}
