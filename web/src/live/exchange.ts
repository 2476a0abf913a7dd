// The scenario in and out: gallery, link, file, text, command.
import { h } from "../dom";
import { api, type Known, type Posted, type Tables } from "./api";
import { Gallery } from "./gallery";
import { nameOf, packed, packedFiles, recorded, unpacked, type Linked } from "./link";

interface Calls {
    load(tables: Tables, base?: string): void;
    apply(toml: string, base?: string): Promise<boolean>;
    /** A file that is no scenario. */
    record(file: File): void;
    say(text: string): void;
}

export class Exchange {
    readonly gallery: HTMLElement;
    readonly element: HTMLElement;
    private readonly text = h("textarea", {
        spellcheck: "false",
        "aria-label": "Scenario as TOML, or a link",
    });
    private readonly command = h("code", {});
    private readonly note = h("span", { role: "status" });
    private toml = "";
    private name = "scenario";
    private tables: Tables = {};

    constructor(
        known: Known,
        private readonly calls: Calls,
    ) {
        const browse = new Gallery(known.gallery, {
            gallery: (name) => this.fromGallery(name),
            load: (tables) => this.calls.load(tables),
            say: (text) => this.calls.say(text),
        });
        this.gallery = h(
            "div",
            { class: "actions" },
            browse.button,
            browse.element,
            this.button("Copy a link", () => void this.link()),
        );
        this.element = this.details();
        this.drops();
    }

    private button(text: string, call: () => void): HTMLButtonElement {
        return h("button", { type: "button", onclick: call }, text);
    }

    private details(): HTMLElement {
        const file = h("input", { type: "file", accept: ".toml", "aria-label": "Open a scenario file" });
        file.addEventListener("change", () => file.files?.[0] && void this.fromFile(file.files[0]));
        return h(
            "details",
            {},
            h("summary", {}, "Scenario file, command, import"),
            this.text,
            h(
                "div",
                { class: "actions" },
                this.button("Use this text", () => void this.fromText(this.text.value)),
                this.button("Save as a file", () => this.save()),
                this.note,
            ),
            h("p", { class: "note" }, "Or open a file, or drop one anywhere on the page: ", file),
            h("pre", { tabindex: 0 }, this.command),
        );
    }

    /** The scenario as it is now. */
    show({ tables = {}, base, on = "sim" }: Posted, toml: string | undefined): void {
        history.replaceState(null, "", location.pathname + location.search + packed(tables, base));
        this.tables = tables;
        if (toml === undefined) return;
        this.toml = toml;
        this.name = String(tables.name ?? "scenario").replace(/[^\w.-]/g, "-");
        if (document.activeElement !== this.text) this.text.value = toml;
        const start = base ? `dumbbell new ${base} # the files that it needs\n` : "";
        const names = [...new Set(recorded(tables).map((one) => one.trace))];
        const copies = names.map((name) => `results/${name}`).join(" ");
        const brought = names.length ? `mkdir -p recordings && cp ${copies} recordings/\n` : "";
        const where = on === "sim" ? "" : ` --on ${on}`;
        this.command.textContent = `${start}${brought}dumbbell run ${this.name}.toml${where} && dumbbell show results/${this.name}-1`;
    }

    /** Whether the page's own address holds a scenario, which is then the page's. */
    fromAddress(): Promise<boolean> {
        return this.fromLink(location.hash);
    }

    private async fromLink(text: string): Promise<boolean> {
        try {
            const found = await unpacked(text);
            if (!found) return false;
            await this.bring(found);
            this.calls.load(found.tables, found.base);
            return true;
        } catch (error) {
            this.calls.say((error as Error).message);
            return false;
        }
    }

    /** Takes the recordings of a link to the server, which may have other files of these names. */
    private async bring({ tables, files }: Linked): Promise<void> {
        for (const place of recorded(tables)) {
            const text = Object.hasOwn(files, place.trace) ? files[place.trace] : undefined;
            if (text !== undefined) place.trace = (await api.record(nameOf(place.trace), text)).path;
        }
    }

    private async fromGallery(name: string): Promise<void> {
        if (!name) return;
        try {
            await this.calls.apply((await api.gallery(name)).toml, name);
        } catch (error) {
            this.calls.say((error as Error).message);
        }
    }

    private async fromText(text: string): Promise<void> {
        const isLink = /^\S*#scenario=\S*$/.test(text.trim());
        if (isLink ? await this.fromLink(text.trim()) : await this.calls.apply(text))
            this.note.textContent = "Taken.";
    }

    private async fromFile(file: File): Promise<void> {
        if (file.size > 1 << 20) this.calls.say(`${file.name}: larger than a scenario may be (1 MiB)`);
        else await this.fromText(await file.text());
    }

    private drops(): void {
        const over = (isOver: boolean) => document.body.classList.toggle("dropping", isOver);
        document.addEventListener("dragover", (event) => {
            event.preventDefault();
            over(true);
        });
        document.addEventListener("dragleave", () => over(false));
        document.addEventListener("drop", (event) => {
            event.preventDefault();
            over(false);
            const file = event.dataTransfer?.files[0];
            if (file && !/\.toml$/i.test(file.name)) this.calls.record(file);
            else if (file) void this.fromFile(file);
        });
    }

    /** The token is the reader's own: a link for others goes without it. */
    private async link(): Promise<void> {
        let text = `${location.origin}${location.pathname}${location.hash}`;
        try {
            const files: Record<string, string> = {};
            for (const { trace } of recorded(this.tables)) files[trace] ??= (await api.recording(trace)).text;
            const names = Object.keys(files);
            if (names.length) text += await packedFiles(files);
            const along = names.map(nameOf).join(", ");
            const told =
                `The link is copied${along && `, with ${along}`}. ` +
                "Whoever gets it pastes it into Import on a page of their own.";
            await copied(text).then(
                () => this.calls.say(told),
                () => this.calls.say(text),
            );
        } catch (error) {
            this.calls.say((error as Error).message);
        }
    }

    private save(): void {
        const url = URL.createObjectURL(new Blob([this.toml], { type: "application/toml" }));
        h("a", { href: url, download: `${this.name}.toml` }).click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
    }
}

/** Browsers let pages without TLS of another machine not write to the clipboard. */
function copied(text: string): Promise<void> {
    return navigator.clipboard
        ? navigator.clipboard.writeText(text)
        : Promise.reject(new Error("no clipboard"));
}
