// The worker of one run: it may be ended at any moment, which is how a run is cancelled.
import { Engine, type Answer } from "./engine";

/** What it is given, once the compiled engine is there. */
export interface ToRunner {
    module: WebAssembly.Module;
    plan: string;
    given: Record<string, Uint8Array>;
}
/** What it says. */
export type FromRunner =
    { rows: string } | { at: number } | { answer: Answer; files: Record<string, Uint8Array> };

const say = (said: FromRunner) => postMessage(said);

addEventListener("message", ({ data }) => {
    const { module, plan, given } = data as ToRunner;
    say(
        new Engine(module).run(plan, given, {
            rows: (rows) => say({ rows }),
            progress: (at) => say({ at }),
        }),
    );
});
