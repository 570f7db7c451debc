/**
 * An ACP server over HTTPS that behaves as those of today do, odd as that is: an `error` that becomes a
 * success, interrupts that stream nothing, keep-alives without an end of line, parameters that are never
 * of the right type, calls that fail because nobody wrote them. What its agent does is the test's to say.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { makeCertificate } from "./certificate.ts";

/** What an attempt at a run comes to. */
export type Step =
  | { readonly success: unknown }
  | { readonly error: string }
  | { readonly interrupt: Readonly<Record<string, unknown>> }
  | "never";

/** One attempt, as the agent sees it. */
export interface Attempt {
  readonly input: unknown;
  readonly config: unknown;
  /** From 1; a resumption begins anew. */
  readonly attempt: number;
  /** What was answered to its interrupts. */
  readonly answers: readonly unknown[];
  emit(values: unknown): void;
}

export type Script = (attempt: Attempt) => Step | Promise<Step>;

/** A run as the server keeps it. */
interface FakeRun {
  readonly run_id: string;
  readonly agent_id: string;
  readonly thread_id: string;
  readonly creation: Readonly<Record<string, unknown>>;
  status: string;
  output: unknown;
  answers: unknown[];
  attempts: number;
}

export interface AcpOptions {
  /** Name, version and specs of its agent. */
  readonly name?: string;
  readonly version?: string;
  readonly specs: object;
  readonly apiKey?: string;
  readonly isPlain?: boolean;
  readonly canCancel?: boolean;
  /** A run of a thread is in its server's list from this look on. */
  readonly listedAfter?: number;
  /** Whether it has the calls that create a run and stream it, and that search for runs. */
  readonly canStreamNew?: boolean;
  /** True: a stream's head is sent with its first event, and not before. */
  readonly sendsHeadLate?: boolean;
  /** True: a stream is left open when its run is over. */
  readonly leavesStreams?: boolean;
  readonly script?: Script;
}

/** How a request is answered before the server looks at it; true: it was. */
export type Fault = (
  request: IncomingMessage & { readonly json: unknown },
  response: ServerResponse,
) => boolean;

export interface AcpServer {
  readonly url: string;
  readonly ca: string;
  readonly agentId: string;
  readonly seen: readonly {
    readonly line: string;
    readonly headers: IncomingMessage["headers"];
    readonly json: unknown;
  }[];
  readonly runs: Map<string, FakeRun>;
  script: Script;
  specs: object;
  fault: Fault | undefined;
  /** Waits until a request of this line has come. */
  heard(line: RegExp): Promise<void>;
  close(): Promise<void>;
}

const RETRIES = 3;

export async function startAcpServer(options: AcpOptions): Promise<AcpServer> {
  const fake = new FakeAcp(options);
  await fake.listen();
  return fake;
}

class FakeAcp implements AcpServer {
  url = "";
  ca = "";
  readonly agentId: string = randomUUID();
  readonly seen: { line: string; headers: IncomingMessage["headers"]; json: unknown }[] = [];
  readonly runs = new Map<string, FakeRun>();
  readonly #threads = new Map<string, Record<string, unknown>>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #streams = new Map<string, Set<ServerResponse>>();
  readonly #sockets = new Set<Duplex>();
  readonly #options: AcpOptions;
  #wake = new Set<() => void>();
  #looks = 0;
  #end: () => Promise<void> = async () => undefined;
  script: Script;
  specs: object;
  fault: Fault | undefined;

  constructor(options: AcpOptions) {
    this.#options = options;
    this.script = options.script ?? (() => ({ success: { message: "done" } }));
    this.specs = options.specs;
  }

  async listen(): Promise<void> {
    const { cert, key } = await makeCertificate();
    const handle = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#answer(request, response);
    const isPlain = this.#options.isPlain === true;
    const server = isPlain ? createHttpServer(handle) : createServer({ cert, key }, handle);
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    this.url = `${isPlain ? "http" : "https"}://127.0.0.1:${port}`;
    this.ca = cert;
    this.#end = async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of this.#sockets) socket.destroy();
      await closed;
    };
  }

  close(): Promise<void> {
    return this.#end();
  }

  async heard(line: RegExp): Promise<void> {
    while (!this.seen.some((one) => line.test(one.line))) {
      await new Promise<void>((resolve) => this.#wake.add(resolve));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const body = await text(request);
    const json: unknown = body === "" ? undefined : JSON.parse(body);
    const { method = "", url = "" } = request;
    const line = `${method} ${url}`;
    this.seen.push({ line, headers: request.headers, json });
    for (const wake of this.#wake) wake();
    this.#wake = new Set();
    if (this.fault?.(Object.assign(request, { json }), response) === true) return undefined;
    const { apiKey } = this.#options;
    if (apiKey !== undefined && request.headers["x-api-key"] !== apiKey) {
      return send(response, 401, { detail: "Invalid API Key" });
    }
    const [path = "", parameters = ""] = url.split("?", 2);
    const typed = findTyped(path, new URLSearchParams(parameters));
    if (typed !== undefined) return send(response, 422, { detail: [typed] });
    const parts = path.split("/").slice(1);
    if (path === "/openapi.json") return send(response, 200, { openapi: "3.1.0", paths: PATHS });
    if (parts[0] === "agents") return this.#agents(parts, json, response);
    if (parts[0] === "threads") return this.#threadCall(method, parts, json, response);
    if (parts[0] !== "runs") return send(response, 404, { detail: "Not Found" });
    return this.#runCall(method, parts, json, response);
  }

  #agents(parts: readonly string[], json: unknown, response: ServerResponse): unknown {
    const { name = "org.agntcy.mailcomposer", version = "0.0.1" } = this.#options;
    const metadata = { ref: { name, version, url: null }, description: "An agent." };
    if (parts[1] === "search") {
      const wanted = (json ?? {}) as Record<string, unknown>;
      if (wanted["name"] === undefined && wanted["version"] === undefined) {
        return send(response, 422, { detail: "name or version" });
      }
      const isIt = wanted["name"] === name && wanted["version"] === version;
      return send(response, 200, isIt ? [{ agent_id: this.agentId, metadata }] : []);
    }
    if (parts[1] !== this.agentId) {
      return send(response, 404, { detail: `Agent ${parts[1]} not found` });
    }
    if (parts[2] === "descriptor") return send(response, 200, { metadata, specs: this.specs });
    return send(response, 200, { agent_id: this.agentId, metadata });
  }

  #runCall(
    method: string,
    parts: readonly string[],
    json: unknown,
    response: ServerResponse,
  ): unknown {
    const [, id = "", action] = parts;
    if (method === "POST" && parts.length === 1) return this.#create(json, undefined, response);
    if (method === "POST" && parts.length === 2 && this.#options.canStreamNew !== false) {
      if (id === "search") return this.#search(json, response);
      if (id === "stream") return this.#createStreamed(json, response);
    }
    const run = this.runs.get(id);
    if (action === "cancel" && this.#options.canCancel !== true) {
      return send(response, 500, { detail: "Not implemented" });
    }
    if (action !== undefined && !["wait", "stream", "cancel"].includes(action)) {
      return send(response, 404, { detail: "Not Found" });
    }
    if (run === undefined) {
      if (action === "wait") return send(response, 404, undefined);
      if (action === undefined && method === "POST") {
        return send(response, 400, { detail: "Run not found" });
      }
      return send(response, 404, { detail: `Run with ID ${id} not found` });
    }
    if (action === "wait") return this.#wait(run, response);
    if (action === "stream") return this.#stream(run, response);
    if (action === "cancel") {
      this.#finish(run, "interrupted", undefined);
      return send(response, 204, undefined);
    }
    if (method === "GET") return send(response, 200, view(run));
    if (run.status !== "interrupted") {
      return send(response, 400, { detail: "Run is not in interrupted state" });
    }
    run.answers.push(json);
    run.attempts = 0;
    run.status = "pending";
    send(response, 200, view(run));
    return this.#work(run);
  }

  /** Without a status it would list all of them, the oldest first. */
  #search(json: unknown, response: ServerResponse): unknown {
    const { agent_id, status, limit = 10 } = (json ?? {}) as Record<string, unknown>;
    const found = [...this.runs.values()].filter(
      (run) => run.agent_id === agent_id && (status === undefined || run.status === status),
    );
    return send(response, 200, found.slice(0, Number(limit)).map(view));
  }

  #createStreamed(json: unknown, response: ServerResponse): void {
    const run = this.#create(json, undefined, response, true);
    if (run !== undefined) this.#stream(run, response);
  }

  #create(
    json: unknown,
    threadId: string | undefined,
    response: ServerResponse,
    isStreamed = false,
  ): FakeRun | undefined {
    const creation = (json ?? {}) as Record<string, unknown>;
    const refuse = (status: number, detail: string): undefined => {
      send(response, status, { detail });
    };
    if (creation["agent_id"] !== this.agentId) {
      return refuse(404, `Agent ${String(creation["agent_id"] ?? "None")} not found`);
    }
    if (creation["stream_mode"] !== undefined) return refuse(422, "stream_mode");
    if (creation["config"] === undefined) return refuse(422, '"config" is required for this agent');
    if (isMissing(creation["input"])) return refuse(422, '"input" is required for this agent');
    const run: FakeRun = {
      ...{ run_id: randomUUID(), agent_id: this.agentId, thread_id: threadId ?? randomUUID() },
      ...{ creation, status: "pending", output: null, answers: [], attempts: 0 },
    };
    this.runs.set(run.run_id, run);
    if (threadId === undefined && !isStreamed) send(response, 200, view(run));
    setImmediate(() => void this.#work(run));
    return run;
  }

  async #work(run: FakeRun): Promise<void> {
    run.attempts += 1;
    run.status = "pending";
    const { input, config } = run.creation;
    const step = await this.script({
      ...{ input, config, attempt: run.attempts, answers: run.answers },
      emit: (values) => this.#emit(run, values),
    });
    if (step === "never" || run.status !== "pending") return;
    if ("success" in step)
      return this.#finish(run, "success", { type: "result", values: step.success });
    if ("interrupt" in step) {
      return this.#finish(run, "interrupted", { type: "interrupt", interrupt: step.interrupt });
    }
    const output = { type: "error", run_id: run.run_id, errcode: 1, description: step.error };
    this.#finish(run, "error", output);
    // The same run is tried again, and what was an error may become something else.
    if (run.attempts < RETRIES) setTimeout(() => void this.#work(run), 20);
  }

  #finish(run: FakeRun, status: string, output: unknown): void {
    run.status = status;
    run.output = output;
    for (const wake of this.#waiting.get(run.run_id) ?? []) wake();
    if (this.#options.leavesStreams === true) return;
    for (const stream of this.#streams.get(run.run_id) ?? []) stream.end();
  }

  #emit(run: FakeRun, values: unknown): void {
    const data = { type: "values", run_id: run.run_id, status: "pending", values };
    for (const stream of this.#streams.get(run.run_id) ?? []) {
      // The keep-alive sticks to the frame behind it.
      stream.write(`:id: 1\nevent: agent_event\ndata: ${JSON.stringify(data)}\n\n`);
    }
  }

  #wait(run: FakeRun, response: ServerResponse): unknown {
    if (run.status !== "pending")
      return send(response, 200, { run: view(run), output: run.output });
    const waiting = this.#waiting.get(run.run_id) ?? new Set();
    this.#waiting.set(run.run_id, waiting);
    const wake = (): void => {
      waiting.delete(wake);
      send(response, 200, { run: view(run), output: run.output });
    };
    return waiting.add(wake);
  }

  #stream(run: FakeRun, response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    if (this.#options.sendsHeadLate !== true) response.flushHeaders();
    if (run.status !== "pending") {
      response.end();
      return;
    }
    const streams = this.#streams.get(run.run_id) ?? new Set();
    this.#streams.set(run.run_id, streams.add(response));
  }

  #threadCall(
    method: string,
    parts: readonly string[],
    json: unknown,
    response: ServerResponse,
  ): unknown {
    const [, id = "", runs, runId, action] = parts;
    if (method === "POST" && parts.length === 1) {
      const { metadata = {} } = (json ?? {}) as Record<string, unknown>;
      const thread = { thread_id: randomUUID(), metadata, status: "idle", values: null };
      this.#threads.set(thread.thread_id, thread);
      return send(response, 200, thread);
    }
    const thread = this.#threads.get(id);
    if (thread === undefined) return send(response, 404, { detail: "Thread not found" });
    if (runs === undefined) return send(response, 200, thread);
    const own = [...this.runs.values()].filter((run) => run.thread_id === id);
    if (method === "GET" && runId === undefined) {
      this.#looks += 1;
      const isListed = this.#looks >= (this.#options.listedAfter ?? 0);
      return send(response, 200, isListed ? own.map(view) : []);
    }
    if (method === "GET" && action === "wait") {
      const run = this.runs.get(runId ?? "");
      return run === undefined ? send(response, 404, undefined) : this.#wait(run, response);
    }
    // A call that forgets to wait for what it calls.
    if (method === "POST" && runId === undefined)
      return send(response, 500, "Internal Server Error");
    if (method === "POST" && runId === "wait") {
      if (own.some(({ status }) => status === "pending")) {
        return send(response, 409, { detail: `Thread with ID ${id} has pending runs.` });
      }
      const run = this.#create(json, id, response);
      if (run === undefined) return undefined;
      const waiting = this.#waiting.get(run.run_id) ?? new Set();
      this.#waiting.set(run.run_id, waiting);
      return waiting.add(() => {
        // An interrupt is put where a text belongs, and the server trips over it.
        if (run.status === "interrupted") send(response, 500, "Internal Server Error");
        else if (!response.headersSent) send(response, 200, { run: view(run), output: run.output });
      });
    }
    // Everything else about runs of threads nobody wrote, or nobody tried.
    return send(response, 500, { detail: "Not implemented" });
  }
}

/** What it says of its own calls, those that nobody wrote included. */
const PATHS = Object.fromEntries(
  ["/runs", "/runs/{run_id}", "/runs/{run_id}/cancel", "/threads/{thread_id}/runs"].map((path) => [
    path,
    { get: {}, post: { responses: { "204": {}, "404": {}, "409": {} } } },
  ]),
);

/** What a parameter is must be an integer or a boolean already, which nothing in a URL is. */
const TYPED: ReadonlyMap<string, string> = new Map([
  ["wait", "boolean"],
  ["limit", "integer"],
  ["offset", "integer"],
]);

function findTyped(path: string, parameters: URLSearchParams): object | undefined {
  if (!/\/(?:cancel|runs|history)$/.test(path)) return undefined;
  for (const [name, input] of parameters) {
    const type = TYPED.get(name);
    if (type === undefined) continue;
    const kind = type === "boolean" ? "bool_type" : "int_type";
    return { type: kind, loc: ["query", name], msg: `Input should be a valid ${type}`, input };
  }
  return undefined;
}

/** Nothing, and what a sloppy check takes for nothing. */
function isMissing(input: unknown): boolean {
  if (typeof input === "object" && input !== null) return Object.keys(input).length === 0;
  return input === undefined || input === null || input === "";
}

function view({ output: _, answers: __, attempts: ___, ...run }: FakeRun): object {
  const now = "2026-01-01T00:00:00Z";
  return { ...run, created_at: now, updated_at: now };
}

export function send(response: ServerResponse, status: number, body: unknown): void {
  if (body === undefined) {
    response.writeHead(status).end();
    return;
  }
  const isText = typeof body === "string";
  response.writeHead(status, { "content-type": isText ? "text/plain" : "application/json" });
  response.end(isText ? body : JSON.stringify(body));
}
