/**
 * Listens to what an agent's server tells of a run while it is under way. Nothing depends on it: a
 * stream that is not there, breaks off, says nothing or never ends is all the same to the run. What is
 * heard before the run is known here waits until it is.   Agent Connect Protocol "RunOutputStream"
 */
import { isRecord } from "../../../base/json-value.ts";
import { octetSlices } from "../../../base/octet-slices.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { isId } from "../acp/acp-answers.ts";
import { type AcpFailure, type AcpResponse, isFailure } from "../acp/acp-call.ts";
import type { AcpClient } from "../acp/acp-client.ts";
import type { RunEvent } from "./run.ts";

type RecordEvents = (events: readonly RunEvent[]) => Promise<void>;

const MAX_STREAM_BYTES = 16_777_216;
/** More than is ever kept of a run. */
const MAX_WAITING = 1_000;

/** A stream that is listened to. No promise of it rejects. */
export class RunStream {
  /** It has begun, or will not. */
  readonly opened: Promise<void>;
  /** The server's id of the run, as soon as it says so; undefined: nothing is said of any run. */
  readonly runId: Promise<string | undefined>;
  /** Nothing more comes of it; whether the server has ended it, and everything was heard. */
  readonly ended: Promise<boolean>;
  readonly #client: Pick<AcpClient, "shield">;
  readonly #closing = new AbortController();
  #name: (runId: string | undefined) => void = () => undefined;
  #record: RecordEvents | undefined;
  #waiting: RunEvent[] = [];
  #isOverflown = false;

  constructor(
    client: Pick<AcpClient, "shield">,
    open: (signal: AbortSignal) => Promise<AcpResponse | AcpFailure>,
  ) {
    this.#client = client;
    this.runId = new Promise((resolve) => {
      this.#name = resolve;
    });
    const response = open(this.#closing.signal);
    const listened = response.then((begun) => (isFailure(begun) ? false : this.#listen(begun)));
    this.opened = response.then(ignore, ignore);
    this.ended = listened
      .catch(() => false)
      .then((isWhole) => {
        this.#name(undefined);
        return isWhole;
      });
  }

  /** Records from now on, beginning with what was heard before. */
  async recordBy(record: RecordEvents): Promise<void> {
    this.#record = record;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length > 0) await record(waiting);
  }

  close(): void {
    this.#closing.abort();
  }

  /** Tells whether all of it was heard. */
  async #listen({ body }: AcpResponse): Promise<boolean> {
    const parser = new EventStreamParser();
    const decoder = new TextDecoder("utf-8");
    let length = 0;
    for await (const chunk of octetSlices(body as AsyncIterable<Buffer>)) {
      length += chunk.length;
      const frames = parser.push(decoder.decode(chunk, { stream: true }));
      const events = frames.flatMap(({ event, data }) => this.#read(event, data) ?? []);
      if (events.length > 0) await this.#take(events);
      // Leaving the loop destroys the body, and the connection with it.
      if (parser.isOverlong || length > MAX_STREAM_BYTES) return false;
    }
    return !this.#isOverflown;
  }

  async #take(events: readonly RunEvent[]): Promise<void> {
    if (this.#record !== undefined) return this.#record(events);
    const room = MAX_WAITING - this.#waiting.length;
    this.#isOverflown ||= events.length > room;
    this.#waiting.push(...events.slice(0, room));
  }

  /** The events of a frame; how a run ended is found out by asking. */
  #read(name: string, data: string): RunEvent | undefined {
    const { value } = parseBoundedJson(this.#client.shield(data)) as { readonly value?: unknown };
    if (!isRecord(value)) return undefined;
    const { run_id: runId } = value;
    if (isId(runId)) this.#name(runId);
    const type = typeof value["type"] === "string" ? value["type"] : name;
    switch (type) {
      case "values":
        return { type, values: value["values"] ?? null };
      case "custom":
        return { type, update: value["update"] ?? null };
      default:
        return undefined;
    }
  }
}

function ignore(): void {}

interface StreamFrame {
  /** `message` unless the server named it. */
  readonly event: string;
  readonly data: string;
}

/** A frame beyond this ends the reading. */
export const MAX_FRAME_LENGTH = 262_144;

const STUCK_KEEP_ALIVE = /^:+(?=(?:id|event|data|retry):)/;

/**
 * Reads `text/event-stream` as ACP servers write it, in any chunks. Their keep-alive is a colon without
 * an end of line, which sticks to the line that follows; it is taken off. Nothing is kept beyond one
 * frame of bounded length.   HTML "Server-sent events"
 */
export class EventStreamParser {
  /** The beginning of a line. */
  #rest = "";
  /** A CR has ended a line; the LF that may follow is its other half. */
  #isBehindCr = false;
  #data: string[] = [];
  #length = 0;
  #event = "";
  #isOverlong = false;

  /** A frame was too long, and nothing is read any more. */
  get isOverlong(): boolean {
    return this.#isOverlong;
  }

  /** The frames that are complete with this chunk. */
  push(chunk: string): readonly StreamFrame[] {
    if (this.#isOverlong || chunk === "") return [];
    const text = this.#isBehindCr && chunk.startsWith("\n") ? chunk.slice(1) : chunk;
    this.#isBehindCr = chunk.endsWith("\r");
    const frames = this.#takeLines(text);
    if (this.#rest.length + this.#length > MAX_FRAME_LENGTH) this.#isOverlong = true;
    return frames;
  }

  #takeLines(text: string): readonly StreamFrame[] {
    const frames: StreamFrame[] = [];
    // The rest of earlier chunks, which may be of one character each, is not looked at again.
    const lines = /[\r\n]/.test(text) ? text.split(/\r\n|\n|\r/) : [text];
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      const frame = this.#take(this.#rest + line);
      if (frame !== undefined) frames.push(frame);
      this.#rest = "";
    }
    this.#rest += rest;
    return frames;
  }

  #take(written: string): StreamFrame | undefined {
    if (written === "") return this.#finish();
    const line = written.replace(STUCK_KEEP_ALIVE, "");
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value.slice(0, 128);
    if (field !== "data" || this.#length > MAX_FRAME_LENGTH) return undefined;
    this.#data.push(value);
    this.#length += value.length + 1;
    return undefined;
  }

  #finish(): StreamFrame | undefined {
    const [data, event] = [this.#data, this.#event];
    this.#data = [];
    this.#event = "";
    this.#length = 0;
    if (data.length === 0) return undefined;
    return { event: event === "" ? "message" : event, data: data.join("\n") };
  }
}
