// Reads the data that the file carries, and builds the page.
import "uplot/dist/uPlot.min.css";
import "./page.css";
import { h } from "./dom";
import { page } from "./report";
import type { Report } from "./types";

const VERSION = 4;
const report = JSON.parse(document.getElementById("data")!.textContent!) as Report;
const place = document.getElementById("page")!;
if (report.version === VERSION) place.replaceChildren(...page(report));
else place.replaceChildren(h("p", {}, `Data of version ${report.version}, and this page reads ${VERSION}.`));
document.documentElement.dataset.ready = "yes";
