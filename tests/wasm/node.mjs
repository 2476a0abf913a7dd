// Runs plans by the engine of WebAssembly in Node: node.mjs ENGINE.mjs ENGINE.wasm. A JSON object a line comes in and one goes out:
// {plan, out, given} with the files that the plan names gives {answer, rows, wall_s} and files in the folder `out`, {asked}
// gives {answer}.
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [program, wasm] = process.argv.slice(2);
const { Engine } = await import(pathToFileURL(program));
const engine = new Engine(new WebAssembly.Module(readFileSync(wasm)));

for await (const line of createInterface({ input: process.stdin })) {
    const { plan, out, given, asked } = JSON.parse(line);
    if (asked) {
        console.log(JSON.stringify({ answer: engine.ask(asked) }));
        continue;
    }
    const files = Object.fromEntries(given.map((path) => [path, readFileSync(path)]));
    const rows = [];
    const watcher = { rows: (text) => rows.push(text), progress: () => {} };
    const began = performance.now();
    const done = engine.run(plan, files, watcher);
    const wall_s = (performance.now() - began) / 1000;
    for (const [name, bytes] of Object.entries(done.files)) writeFileSync(`${out}/${name}`, bytes);
    console.log(JSON.stringify({ answer: done.answer, rows, wall_s }));
}
