// Files in memory for a program of WebAssembly, by as much of WASI (preview 1) as the engine calls: one folder tree, of which
// only the files are kept.

const [OK, BADF, EXIST, INVAL, ISDIR, NOENT, NOSYS] = [0, 8, 20, 28, 31, 44, 52];
const [CREATE, DIRECTORY, EXCLUSIVE, TRUNCATE] = [1, 2, 4, 8];
const [IS_DIRECTORY, IS_FILE] = [3, 4];
/** The number under which the root is open. */
const ROOT = 3;
const STDERR = 2;

class Content {
    constructor(
        private bytes: Uint8Array = new Uint8Array(1 << 12),
        public length = 0,
    ) {}

    get whole(): Uint8Array {
        return this.bytes.subarray(0, this.length);
    }

    write(at: number, part: Uint8Array): void {
        const end = at + part.length;
        if (end > this.bytes.length) {
            const larger = new Uint8Array(Math.max(end, 2 * this.bytes.length));
            larger.set(this.whole);
            this.bytes = larger;
        }
        this.bytes.set(part, at);
        this.length = Math.max(this.length, end);
    }
}

/** Raised where the program ends itself. */
export class Ended extends Error {}

export class Files {
    /** What the program has written as errors. */
    said = "";
    private readonly contents = new Map<string, Content>();
    private readonly open = new Map<number, { content: Content; at: number }>();
    private next = ROOT + 1;
    private memory!: WebAssembly.Memory;

    /** Files that are there, by their path without the slash that it begins with. */
    constructor(given: Record<string, Uint8Array> = {}) {
        for (const [path, bytes] of Object.entries(given))
            this.contents.set(path.replace(/^\/+/, ""), new Content(bytes, bytes.length));
    }

    /** The files below a folder, by name. */
    below(folder: string): Record<string, Uint8Array> {
        const prefix = `${folder.replace(/^\/+/, "")}/`;
        const found = [...this.contents].filter(([path]) => path.startsWith(prefix));
        return Object.fromEntries(
            found.map(([path, { whole }]) => [path.slice(prefix.length), whole.slice()]),
        );
    }

    /** What the program imports; `memory` is its own. */
    attach(memory: WebAssembly.Memory): void {
        this.memory = memory;
    }

    private get view(): DataView {
        return new DataView(this.memory.buffer);
    }

    private bytes(at: number, length: number): Uint8Array<ArrayBuffer> {
        return new Uint8Array(this.memory.buffer as ArrayBuffer, at, length);
    }

    private text(at: number, length: number): string {
        return new TextDecoder().decode(this.bytes(at, length).slice());
    }

    /** The pieces of memory that a list of (address, length) names. */
    private pieces(list: number, count: number): Uint8Array[] {
        const { view } = this;
        return Array.from({ length: count }, (_, i) =>
            this.bytes(view.getUint32(list + 8 * i, true), view.getUint32(list + 8 * i + 4, true)),
        );
    }

    private stat(to: number, kind: number, size: number): number {
        this.bytes(to, 64).fill(0);
        this.view.setUint8(to + 16, kind);
        this.view.setBigUint64(to + 24, 1n, true);
        this.view.setBigUint64(to + 32, BigInt(size), true);
        return OK;
    }

    private openAt(path: string, flags: number, to: number): number {
        let content = this.contents.get(path);
        if (flags & DIRECTORY) return content ? INVAL : NOENT;
        if (content && flags & EXCLUSIVE) return EXIST;
        if (!content && !(flags & CREATE)) return this.isFolder(path) ? ISDIR : NOENT;
        if (!content || flags & TRUNCATE) this.contents.set(path, (content = new Content()));
        this.open.set(this.next, { content, at: 0 });
        this.view.setUint32(to, this.next++, true);
        return OK;
    }

    private isFolder(path: string): boolean {
        return path === "." || [...this.contents.keys()].some((one) => one.startsWith(`${path}/`));
    }

    private write(fd: number, list: number, count: number, done: number): number {
        const file = this.open.get(fd);
        let total = 0;
        for (const piece of this.pieces(list, count)) {
            if (file) {
                file.content.write(file.at, piece);
                file.at += piece.length;
            } else if (fd === STDERR) this.said += new TextDecoder().decode(piece.slice());
            else if (fd > STDERR) return BADF;
            total += piece.length;
        }
        this.view.setUint32(done, total, true);
        return OK;
    }

    private read(fd: number, list: number, count: number, done: number): number {
        const file = this.open.get(fd);
        if (!file) return BADF;
        let total = 0;
        for (const piece of this.pieces(list, count)) {
            const part = file.content.whole.subarray(file.at, file.at + piece.length);
            piece.set(part);
            file.at += part.length;
            total += part.length;
        }
        this.view.setUint32(done, total, true);
        return OK;
    }

    private seek(fd: number, offset: bigint, from: number, to: number): number {
        const file = this.open.get(fd);
        if (!file) return BADF;
        file.at = Number(offset) + [0, file.at, file.content.length][from];
        this.view.setBigUint64(to, BigInt(file.at), true);
        return OK;
    }

    private clock(to: number): number {
        this.view.setBigUint64(to, BigInt(Math.round(performance.now() * 1e6)), true);
        return OK;
    }

    private nothing(count: number, size: number): number {
        this.view.setUint32(count, 0, true);
        this.view.setUint32(size, 0, true);
        return OK;
    }

    private rootNamed(to: number): number {
        this.view.setUint8(to, "/".charCodeAt(0));
        return OK;
    }

    /** The functions by their names in WASI. */
    get imports(): Record<string, (...args: any[]) => number> {
        const known: Record<string, (...args: any[]) => number> = {
            args_sizes_get: (count, size) => this.nothing(count, size),
            args_get: () => OK,
            environ_sizes_get: (count, size) => this.nothing(count, size),
            environ_get: () => OK,
            clock_time_get: (_id, _precision, to) => this.clock(to),
            random_get: (at, length) => {
                crypto.getRandomValues(this.bytes(at, length));
                return OK;
            },
            proc_exit: (code) => {
                throw new Ended(`it ended with ${code}`);
            },
            fd_prestat_get: (fd, to) =>
                fd === ROOT ? (this.view.setBigUint64(to, 1n << 32n, true), OK) : BADF,
            fd_prestat_dir_name: (_fd, to) => this.rootNamed(to),
            fd_fdstat_get: (fd, to) => {
                this.bytes(to, 24).fill(0);
                this.view.setUint8(to, fd === ROOT ? IS_DIRECTORY : IS_FILE);
                this.bytes(to + 8, 16).fill(0xff);
                return OK;
            },
            fd_filestat_get: (fd, to) =>
                this.open.has(fd) ? this.stat(to, IS_FILE, this.open.get(fd)!.content.length) : BADF,
            fd_write: (fd, list, count, done) => this.write(fd, list, count, done),
            fd_read: (fd, list, count, done) => this.read(fd, list, count, done),
            fd_seek: (fd, offset, from, to) => this.seek(fd, offset, from, to),
            fd_close: (fd) => (this.open.delete(fd) ? OK : BADF),
            path_open: (_fd, _look, path, length, flags, _rights, _inherited, _fdflags, to) =>
                this.openAt(this.text(path, length), flags, to),
            path_filestat_get: (_fd, _look, path, length, to) => {
                const name = this.text(path, length);
                const content = this.contents.get(name);
                if (!content && !this.isFolder(name)) return NOENT;
                return this.stat(to, content ? IS_FILE : IS_DIRECTORY, content?.length ?? 0);
            },
            path_create_directory: () => OK,
        };
        return new Proxy(known, { get: (all, name) => all[name as string] ?? (() => NOSYS) });
    }
}
