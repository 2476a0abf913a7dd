// The engine of crates/wasm: asked as JSON, with files in memory. Each call has an instance of its own, because memory does not
// shrink and an error of the engine ends its instance.
import { Files } from "./files";

/** An answer: what was asked for, or the error by the name that it has in Python. */
export type Answer = { given?: any; plan_error?: string; value_error?: string; runtime_error?: string };

/** Hears of a run about every 50 ms. */
export interface Watcher {
    /** Rows of the tables since the last call, as JSON: `watch` of `dumbbell._native.run`. */
    rows(text: string): void;
    /** Simulated ns, packets delivered. */
    progress(at: number, packets: number): void;
}

interface Exports {
    memory: WebAssembly.Memory;
    room(length: number): number;
    answer(at: number, length: number): bigint;
}

const OUT = "/out";

export class Engine {
    constructor(private readonly module: WebAssembly.Module) {}

    /** Asks for something that is no run. */
    ask(asked: object): Answer {
        return this.asked(asked, new Files());
    }

    /** Runs a plan; `given` are the files that it names, and what it writes is in `files`. */
    run(
        plan: string,
        given: Record<string, Uint8Array> = {},
        watcher?: Watcher,
    ): { answer: Answer; files: Record<string, Uint8Array> } {
        const files = new Files(given);
        const answer = this.asked(
            { call: "run", plan, out: OUT, watches: watcher !== undefined },
            files,
            watcher,
        );
        return { answer, files: files.below(OUT) };
    }

    private asked(asked: object, files: Files, watcher?: Watcher): Answer {
        const { exports: raw } = new WebAssembly.Instance(this.module, {
            wasi_snapshot_preview1: files.imports,
            dumbbell: {
                rows: (at: number, length: number) => watcher?.rows(text(at, length)),
                progress: (at: bigint, packets: bigint) => {
                    watcher?.progress(Number(at), Number(packets));
                    return 1;
                },
            },
        });
        const exports = raw as unknown as Exports;
        const text = (at: number, length: number) =>
            new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at, length).slice());
        files.attach(exports.memory);
        try {
            const bytes = new TextEncoder().encode(JSON.stringify(asked));
            const at = exports.room(bytes.length);
            new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
            const found = exports.answer(at, bytes.length);
            return JSON.parse(text(Number(found >> 32n), Number(found & 0xffffffffn)));
        } catch (error) {
            const said = files.said.trim() || String(error);
            return {
                runtime_error: `the engine failed, which is a bug: please report it with the scenario (${said})`,
            };
        }
    }
}
