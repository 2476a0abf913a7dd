// Recordings of a path: files that are brought to the server, and stand for the rate, the RTT or the loss.
import { h } from "../dom";
import { api, type Known, type Recording, type Tables } from "./api";
import { nameOf } from "./link";
import { write } from "./scenario";

/** What a column of a recording may stand for: its field, and the field's key. */
const PLACES: Record<string, [string, string]> = {
    rate: ["rate", "path.rate"],
    rtt: ["RTT", "path.rtt"],
    delay: ["one-way delay", "path.delay"],
    loss: ["loss", "path.loss"],
};

interface Calls {
    tables(): Tables;
    /** The tables have other values, and name files of the server's own folder. */
    written(): void;
    say(text: string): void;
}

export class Recordings {
    readonly element: HTMLElement;
    private readonly list = h("ul", { class: "recordings" });
    private known: Recording[] = [];
    private drawn = "";

    constructor(
        private readonly limits: Known["recording"],
        private readonly calls: Calls,
    ) {
        const file = h("input", { type: "file", "aria-label": "Bring a recording" });
        file.addEventListener("change", () => file.files?.[0] && void this.bring(file.files[0]));
        const { bytes, files } = limits;
        const limit = `At most ${bytes / 2 ** 20} MiB and a million rows each, ${files} files; kept in the folder of results.`;
        this.element = h(
            "details",
            {},
            h("summary", {}, "Rate, RTT, loss from a recording"),
            h("p", { class: "note" }, "A table, a Mahimahi trace, LeoReplayer or CellReplay. ", limit),
            h("p", {}, "Open a file, or drop one anywhere on the page: ", file),
            this.list,
        );
        this.element.addEventListener("toggle", () => void this.load());
    }

    private async load(): Promise<void> {
        try {
            this.known = (await api.recordings()).recordings;
        } catch (error) {
            this.calls.say((error as Error).message);
        }
        this.draw();
    }

    /** Takes a file to the server. */
    async bring(file: File): Promise<void> {
        const { bytes } = this.limits;
        if (file.size > bytes)
            return this.calls.say(`${file.name}: it has ${file.size} bytes, wanted at most ${bytes}`);
        try {
            const made = await api.record(file.name.replace(/[^\w.-]/g, "-"), await file.text());
            this.known = [made, ...this.known.filter((one) => one.path !== made.path)];
            this.calls.say("");
            this.element.setAttribute("open", "");
            this.draw();
        } catch (error) {
            this.calls.say((error as Error).message);
        }
    }

    /** Who is at a button stays there, unless there is another recording. */
    private draw(): void {
        const now = JSON.stringify(this.known);
        if (now === this.drawn) return;
        this.drawn = now;
        this.list.replaceChildren(...this.known.map((one) => this.entry(one)));
    }

    private entry(one: Recording): HTMLElement {
        const buttons = one.columns.map(({ name, quantity }) => {
            const [field, key] = PLACES[quantity];
            const twice = one.columns.filter((other) => other.quantity === quantity).length > 1;
            const column = twice ? { column: name } : {};
            const form = one.form === "leoreplayer" ? { format: one.form } : {};
            return h(
                "button",
                {
                    type: "button",
                    onclick: () => {
                        write(this.calls.tables(), key, {
                            trace: one.path,
                            repeat: true,
                            ...form,
                            ...column,
                        });
                        this.calls.written();
                    },
                },
                twice ? `${name} as the ${field}` : `As the ${field}`,
            );
        });
        const name = nameOf(one.path);
        return h("li", {}, `${name}, ${Number(one.length_s.toPrecision(3))} s: `, ...buttons);
    }
}
