// Fields of the builder: typing with units, a handle on a logarithmic scale, the scenario's own message beside it.
import { h, type Child } from "../dom";
import { read, shownValue, taken, write } from "./scenario";
import type { Problem, Tables } from "./api";

/** A handle: its ends in the unit, whether steps are factors, and how a number is written. */
export interface Handle {
    low: number;
    high: number;
    log: boolean;
    unit: string;
}

export interface Form {
    tables: Tables;
    /** Called with whether a handle was moved. */
    changed(isHandle: boolean): void;
}

/** A field that has numbers, by its name among all: `usual` stands where it is empty. */
export interface Sweepable {
    label: string;
    key: string;
    usual: string;
    group?: string;
    handle?: Handle;
    /** Of a whole number, its smallest and its largest value. */
    ends?: [number, number];
}

const FACTORS: Record<string, number> = {
    kbps: 1e-3,
    Mbps: 1,
    Gbps: 1e3,
    us: 1e-3,
    ms: 1,
    s: 1e3,
    bdp: 1,
    "%": 1,
};

/** The number of a text such as 40Mbps in the handle's unit; null where it is none. */
export function amount(text: string, unit: string): number | null {
    const found = /^([\d.]+)\s*([a-zA-Z%]+)$/.exec(text.trim());
    if (!found || !(found[2] in FACTORS)) return null;
    const kind = (name: string) => (/bps$/.test(name) ? 0 : /s$/.test(name) ? 1 : name);
    if (kind(found[2]) !== kind(unit)) return null;
    return (Number(found[1]) * FACTORS[found[2]]) / FACTORS[unit];
}

/** Two digits are what a handle can set. */
export function written(value: number, unit: string): string {
    return `${Number(value.toPrecision(2))}${unit}`;
}

let count = 0;

export class Fields {
    private readonly places = new Map<
        string,
        { input: HTMLElement; error: HTMLElement; frame: HTMLElement }
    >();

    /** The fields with numbers that were made. */
    readonly sweepable: Sweepable[] = [];
    /** What the names of fields begin with among all. */
    whose = "";

    constructor(private readonly form: Form) {}

    private framed(label: string, key: string, input: HTMLElement, more: Child[] = []): HTMLElement {
        const error = h("p", { class: "wrong", id: `wrong-${++count}` });
        input.id = `field-${count}`;
        input.dataset.key = key;
        input.setAttribute("aria-describedby", error.id);
        const frame = h(
            "div",
            { class: "field" },
            h("label", { for: input.id }, label),
            input,
            ...more,
            error,
        );
        this.places.set(key, { input, error, frame });
        return frame;
    }

    text(label: string, key: string, hint: string, handle?: Handle, ends?: [number, number]): HTMLElement {
        const input = h("input", {
            type: "text",
            value: shownValue(read(this.form.tables, key)),
            placeholder: hint,
            spellcheck: "false",
            autocomplete: "off",
        });
        if (handle || ends)
            this.sweepable.push({
                ...{ label: this.whose + label, key, usual: hint.split(" ")[0], handle, ends },
            });
        const slider = handle && this.slider(label, key, hint, handle, input);
        input.addEventListener("input", () => {
            write(this.form.tables, key, taken(input.value));
            slider?.dispatchEvent(new Event("follow"));
            this.form.changed(false);
        });
        return this.framed(label, key, input, slider ? [slider] : []);
    }

    private slider(
        label: string,
        key: string,
        hint: string,
        one: Handle,
        input: HTMLInputElement,
    ): HTMLInputElement {
        const place = (value: number) =>
            one.log
                ? (1000 * Math.log(value / one.low)) / Math.log(one.high / one.low)
                : (1000 * (value - one.low)) / (one.high - one.low);
        const value = (at: number) =>
            one.log
                ? one.low * (one.high / one.low) ** (at / 1000)
                : one.low + ((one.high - one.low) * at) / 1000;
        const slider = h("input", {
            type: "range",
            min: 0,
            max: 1000,
            step: 5,
            "aria-label": `${label}, handle`,
        });
        const follow = () => {
            const found = amount(input.value || hint, one.unit);
            slider.disabled = found === null && input.value !== "";
            if (found !== null) slider.value = String(place(Math.max(found, one.low)));
            slider.setAttribute("aria-valuetext", input.value || hint);
        };
        slider.addEventListener("follow", follow);
        slider.addEventListener("input", () => {
            input.value = written(value(Number(slider.value)), one.unit);
            slider.setAttribute("aria-valuetext", input.value);
            write(this.form.tables, key, taken(input.value));
            this.form.changed(true);
        });
        follow();
        return slider;
    }

    choice(label: string, key: string, names: string[], usual: string, done?: () => void): HTMLElement {
        const now = read(this.form.tables, key);
        const select = h("select", {});
        const known = names.includes(String(now ?? usual)) ? names : [shownValue(now), ...names];
        select.append(...known.map((name) => h("option", { value: name }, name)));
        select.value = now === undefined ? usual : shownValue(now);
        select.addEventListener("change", () => {
            write(
                this.form.tables,
                key,
                select.value === usual && key !== "" ? undefined : taken(select.value),
            );
            if (key.endsWith(".cca")) write(this.form.tables, key, select.value);
            done?.();
            this.form.changed(false);
        });
        return this.framed(label, key, select);
    }

    /** The field of a key, with its label, handle and message. */
    frame(key: string): HTMLElement | undefined {
        return this.places.get(key)?.frame;
    }

    /** Puts each message beside its field, and returns those that belong to none. */
    say(problems: Problem[]): Problem[] {
        for (const { input, error } of this.places.values()) {
            error.textContent = "";
            input.removeAttribute("aria-invalid");
        }
        return problems.filter(({ key, text }) => {
            const place = this.places.get(key) ?? this.places.get(key.replace(/\.[^.]*$/, ""));
            if (!place || !place.input.isConnected) return true;
            place.error.textContent = text;
            place.input.setAttribute("aria-invalid", "true");
            return false;
        });
    }
}
