// The scenario in and out: gallery, link, file, text, command.
import { h } from "../dom";
import { api, type Known, type Posted, type Tables } from "./api";
import { Gallery } from "./gallery";
import { packed, unpacked } from "./scenario";

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

    constructor(
        known: Known,
        private readonly calls: Calls,
    ) {
        const select = h("select", { "aria-label": "Gallery" });
        select.append(
            h("option", { value: "" }, "Gallery …"),
            ...known.gallery.map((one) => h("option", { value: one.name, title: one.summary }, one.name)),
        );
        const load = h(
            "button",
            { type: "button", onclick: () => void this.fromGallery(select.value) },
            "Load",
        );
        const browse = new Gallery(known.gallery, {
            gallery: (name) => this.fromGallery(name),
            load: (tables) => this.calls.load(tables),
            say: (text) => this.calls.say(text),
        });
        this.gallery = h(
            "div",
            { class: "actions" },
            select,
            load,
            browse.button,
            browse.element,
            this.button("Copy a link", () => this.link()),
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
        if (toml === undefined) return;
        this.toml = toml;
        this.name = String(tables.name ?? "scenario").replace(/[^\w.-]/g, "-");
        if (document.activeElement !== this.text) this.text.value = toml;
        const start = base ? `dumbbell new ${base} # the files that it needs\n` : "";
        const where = on === "sim" ? "" : ` --on ${on}`;
        this.command.textContent = `${start}dumbbell run ${this.name}.toml${where} && dumbbell show results/${this.name}-1`;
    }

    fromAddress(): boolean {
        const found = unpacked(location.hash);
        if (found) this.calls.load(found.tables, found.base);
        return found !== null;
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
        const linked = unpacked(text.trim());
        if (linked) this.calls.load(linked.tables, linked.base);
        else if (await this.calls.apply(text)) this.note.textContent = "Taken.";
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
    private link(): void {
        const text = `${location.origin}/${location.hash}`;
        void navigator.clipboard.writeText(text).then(
            () =>
                this.calls.say(
                    "The link is copied. Whoever gets it pastes it into Import on a page of their own.",
                ),
            () => this.calls.say(text),
        );
    }

    private save(): void {
        const url = URL.createObjectURL(new Blob([this.toml], { type: "application/toml" }));
        h("a", { href: url, download: `${this.name}.toml` }).click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
    }
}
