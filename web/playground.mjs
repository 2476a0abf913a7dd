// Bundles the workers of the playground into a folder: node playground.mjs FOLDER.
import { build } from "esbuild";

await build({
    absWorkingDir: new URL(".", import.meta.url).pathname,
    entryPoints: ["planner", "runner", "engine"].map((name) => `src/playground/${name}.ts`),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "ascii",
    outdir: process.argv[2],
});
