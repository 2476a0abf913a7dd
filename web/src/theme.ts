// Light or dark, as the system or the reader wants it; what draws with colours is told when it changes.
import { h } from "./dom";
import type { Colour } from "./types";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];

export function isDark(): boolean {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : system.matches;
}

export function shown(colour: Colour): string {
    return colour[isDark() ? 1 : 0];
}

export function ink(): string {
    return isDark() ? "#dfe3e8" : "#1d2126";
}

export function faint(): string {
    return isDark() ? "#343a43" : "#dde1e6";
}

export function paper(): string {
    return isDark() ? "#15181d" : "#ffffff";
}

export function onTheme(draw: () => void): void {
    listeners.push(draw);
}

/** What is drawn for a while: the second is to be called when it goes, so that nobody tells it of themes any more. */
export function scoped<T>(make: () => T): [T, () => void] {
    const before = listeners.length;
    const made = make();
    const added = listeners.slice(before);
    return [made, () => added.forEach((draw) => listeners.splice(listeners.indexOf(draw), 1))];
}

function changed(): void {
    listeners.forEach((draw) => draw());
}

export function themeButton(): HTMLElement {
    const button = h("button", { type: "button", onclick: () => toggle() });
    const named = () => (button.textContent = isDark() ? "Light page" : "Dark page");
    function toggle(): void {
        document.documentElement.dataset.theme = isDark() ? "light" : "dark";
        changed();
    }
    onTheme(named);
    system.addEventListener("change", changed);
    named();
    return button;
}
