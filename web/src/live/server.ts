// The server of `dumbbell serve`. The token goes along in a header, which no other site can send.
import { named, Refused, type Answering, type Link, type News, type Problem } from "./api";

/** The name of this page among those of the server: what it shows is not taken away. */
const page = Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16)).join("");

export class Server implements Answering {
    readonly loading = "";

    constructor(private readonly token: string) {}

    async ask(path: string, body?: unknown): Promise<any> {
        const headers: Record<string, string> = { "X-Token": this.token, "X-Page": page };
        if (body !== undefined) headers["Content-Type"] = "application/json";
        const made = {
            headers,
            method: body === undefined ? "GET" : "POST",
            body: body && JSON.stringify(body),
        };
        let answer: Response;
        try {
            answer = await fetch(path, made as RequestInit);
        } catch {
            throw new Refused("The server does not answer. Is `dumbbell serve` still running?", []);
        }
        const isJson = answer.headers.get("Content-Type") === "application/json";
        const found = isJson ? await answer.json() : { error: (await answer.text()).trim() };
        if (answer.ok) return found;
        throw refused(found);
    }

    links(runs: string[]): Link[] {
        const report = `/report?${named(runs)}&token=${encodeURIComponent(this.token)}`;
        return [
            { text: "Report", go: report },
            { text: "Save the report", go: `${report}&save=1` },
        ];
    }

    /** Connects again where the connection breaks. */
    async follow(job: string, told: (news: News) => void): Promise<void> {
        let after = 0;
        for (let tries = 0; tries < 5; tries++) {
            try {
                const path = `/api/stream?job=${encodeURIComponent(job)}&after=${after}`;
                const answer = await fetch(path, { headers: { "X-Token": this.token } });
                if (!answer.ok || !answer.body) throw new Refused((await answer.text()).trim(), []);
                for await (const [number, news] of events(answer.body)) {
                    after = number;
                    tries = 0;
                    told(news);
                    if (news.end) return;
                }
            } catch (error) {
                if (error instanceof Refused) throw error;
            }
            await new Promise((done) => setTimeout(done, 300));
        }
        throw new Refused("The server does not answer; finished runs are in its folder.", []);
    }
}

/** An answer that says what is wrong, as an error. */
export function refused(found: { error?: string; errors?: Problem[] }): Refused {
    const errors = found.errors ?? [];
    return new Refused(found.error ?? errors.map((one) => `${one.key}: ${one.text}`).join("\n"), errors);
}

async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<[number, News]> {
    const reader = body.pipeThrough(new TextDecoderStream() as any).getReader();
    let text = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const parts = (text + value).split("\n\n");
        text = parts.pop()!;
        for (const part of parts) {
            const found = /^id: (\d+)\ndata: (.*)$/s.exec(part);
            if (found) yield [Number(found[1]), JSON.parse(found[2])];
        }
    }
}
