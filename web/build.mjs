// Bundles the page of the report and the live one into python/dumbbell/page; with --check it compares what it made with what is there.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const out = new URL("../python/dumbbell/page/", import.meta.url);
const made = await build({
    absWorkingDir: new URL(".", import.meta.url).pathname,
    entryPoints: { page: "src/main.ts", live: "src/live/main.ts" },
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "inline",
    outdir: "out",
    write: false,
});
let stale = false;
for (const file of made.outputFiles) {
    const name = new URL(file.path.split("/").pop(), out);
    // Inside a script element these would end or hide it.
    const text = file.text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
    if (!process.argv.includes("--check")) writeFileSync(name, text);
    else if (readFileSync(name, "utf8") !== text) {
        console.error(`${name.pathname}: not what web/ makes: run \`make web\``);
        stale = true;
    }
}
process.exit(stale ? 1 : 0);
