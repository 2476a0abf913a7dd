// The live page: asks its server what there is, and builds itself.
import "uplot/dist/uPlot.min.css";
import "../page.css";
import "./live.css";
import { h } from "../dom";
import { api, loading } from "./api";
import { Bench } from "./bench";

const place = document.getElementById("page")!;
place.classList.add("wide");

async function begin(): Promise<void> {
    if (loading) place.replaceChildren(h("p", { class: "note", role: "status" }, loading));
    const bench = new Bench(await api.known());
    place.replaceChildren(...bench.elements);
    await bench.begin();
}

function failed(error: unknown): void {
    place.replaceChildren(h("p", { class: "said", role: "alert" }, (error as Error).message));
}

void begin()
    .catch(failed)
    .then(() => (document.documentElement.dataset.ready = "yes"));
