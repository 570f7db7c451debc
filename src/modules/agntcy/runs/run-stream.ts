/**
 * Records the events that an agent's server streams. The run does not depend on it: a stream may be missing, break off,
 * stay silent or never end. Events before the run is stored here are buffered.   Agent Connect Protocol
 * "RunOutputStream"
 */
import { EventReader, type StreamEvent } from "../../../base/event-stream.ts";
import { isRecord } from "../../../base/json-value.ts";
import { octetSlices } from "../../../base/octet-slices.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { isId } from "../acp/acp-answers.ts";
import { type AcpFailure, type AcpResponse, isFailure } from "../acp/acp-call.ts";
import type { AcpClient } from "../acp/acp-client.ts";
import type { RunEvent } from "./run.ts";

type RecordEvents = (events: readonly RunEvent[]) => Promise<void>;

const MAX_STREAM_BYTES = 16_777_216;
/** A longer event ends the reading. */
const MAX_EVENT_LENGTH = 262_144;
/** More than are ever stored of a run. */
const MAX_WAITING = 1_000;

/** ACP servers send a colon without a line end as keep-alive, which precedes the next line. */
const STUCK_KEEP_ALIVE = /^:+(?=(?:id|event|data|retry):)/;

/** A stream of a run's events. Its promises never reject. */
export class RunStream {
  /** Resolves once the stream has opened or failed to. */
  readonly opened: Promise<void>;
  /** Resolves with the server's id of the run; undefined if the stream never names it. */
  readonly runId: Promise<string | undefined>;
  /** Resolves with true if the server ended the stream and no event was lost. */
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

  /** Records events from now on, beginning with the buffered ones. */
  async recordBy(record: RecordEvents): Promise<void> {
    this.#record = record;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length > 0) await record(waiting);
  }

  close(): void {
    this.#closing.abort();
  }

  /** Reads the stream; true if no event was lost. */
  async #listen({ body }: AcpResponse): Promise<boolean> {
    const reader = new EventReader((line) => line.replace(STUCK_KEEP_ALIVE, ""));
    const decoder = new TextDecoder("utf-8");
    let length = 0;
    for await (const chunk of octetSlices(body as AsyncIterable<Buffer>)) {
      length += chunk.length;
      const told = [...reader.push(decoder.decode(chunk, { stream: true }))];
      const events = told.flatMap((event) => this.#read(event) ?? []);
      if (events.length > 0) await this.#take(events);
      // Leaving the loop destroys the body and its connection.
      if (reader.length > MAX_EVENT_LENGTH || length > MAX_STREAM_BYTES) return false;
    }
    return !this.#isOverflown;
  }

  async #take(events: readonly RunEvent[]): Promise<void> {
    if (this.#record !== undefined) return this.#record(events);
    const room = MAX_WAITING - this.#waiting.length;
    this.#isOverflown ||= events.length > room;
    this.#waiting.push(...events.slice(0, room));
  }

  /** Reads an event; the outcome of the run is requested separately. */
  #read({ event: name, data = "" }: StreamEvent): RunEvent | undefined {
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
