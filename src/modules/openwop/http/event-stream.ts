/**
 * A run's log as server-sent events: from where the listener was, as fast as the listener reads, and
 * closed after the last event, or when the server stops: then it says when to come back, and the
 * listener goes on where it was. Who does not read is let go.   OpenWOP "stream-modes", HTML "SSE"
 */
import { once } from "node:events";
import type { Writable } from "node:stream";
import { Deadline, within } from "../../../base/deadline.ts";
import { isOver, isTerminal, type RunEvent } from "../runs/run.ts";
import type { RunHost } from "../runs/run-host.ts";
import type { RunLog } from "../runs/run-log.ts";
import { type Frame, type Frames, isUrgent } from "./event-frames.ts";

/** The events that are sent, and their listener. */
export interface EventStream {
  readonly host: RunHost;
  readonly log: RunLog;
  readonly frames: Frames;
  /** The last sequence that the listener has; -1: none. */
  readonly after: number;
  readonly isResumed: boolean;
  readonly bufferMs: number;
  readonly response: Writable;
  /** Aborted when the listener is gone. */
  readonly signal: AbortSignal;
}

const READ_AT_ONCE = 100;
const MAX_BATCH = 500;
const KEEP_ALIVE_MS = 15_000;
/** The last that is sent where the server stops before the run is over. */
const FAREWELL = ": the server is stopping\nretry: 2000\n\n";
/** The longest that a listener may leave unread what it was sent. */
const SLOW_READER_MS = 30_000;

/** Sends until there is nothing more to send; the response is ended by then. */
export async function sendEvents(stream: EventStream): Promise<void> {
  const served = stream.host.whileServing(stream.signal);
  await within(served, (signal) => sendUntil({ ...stream, signal }));
}

async function sendUntil(stream: EventStream): Promise<void> {
  const { signal } = stream;
  let isOver = false;
  try {
    isOver = await new Sender(stream).run();
  } catch (error) {
    if (!(error instanceof SlowReader) && !signal.aborted) throw error;
  } finally {
    stream.response.end(signal.aborted && !isOver ? FAREWELL : undefined);
  }
}

class SlowReader extends Error {}

class Sender {
  readonly #stream: EventStream;
  #after: number;

  constructor(stream: EventStream) {
    this.#stream = stream;
    this.#after = stream.after;
  }

  /** Resolves with true once the run is over, so that nothing is left to tell. */
  async run(): Promise<boolean> {
    const { signal, log, frames, isResumed, after } = this.#stream;
    // Told at once that it is connected, even when nothing has happened yet.
    await this.#write(": connected\n\n");
    if (frames.needsHistory) await this.#passHistory();
    if (isResumed) for (const frame of frames.baseline(after)) await this.#send(frame);
    while (!signal.aborted) {
      const events = await this.#read();
      await this.#sendAll(events);
      if (events.some(({ type }) => isTerminal(type))) return true;
      if (events.length > 0) continue;
      if (isOver(log.state.status) && this.#after >= log.state.nextSequence - 1) return true;
      await this.#rest();
    }
    return false;
  }

  async #passHistory(): Promise<void> {
    const { log, frames } = this.#stream;
    let at = -1;
    while (at < this.#after) {
      const limit = Math.min(READ_AT_ONCE, this.#after - at);
      const page = await log.events(at, limit);
      if (page.length === 0) return;
      for (const event of page) frames.pass(event);
      at = page.at(-1)?.sequence ?? this.#after;
    }
  }

  /** The events that are there; with a buffer, those that come within its time too. */
  async #read(): Promise<readonly RunEvent[]> {
    const { bufferMs, log, signal } = this.#stream;
    const events = [...(await this.#page())];
    if (bufferMs === 0 || events.length === 0) return events;
    const end = performance.now() + bufferMs;
    while (!events.some(isUrgent) && events.length < MAX_BATCH && performance.now() < end) {
      const timeoutMs = end - performance.now();
      await log.changed(this.#after, { signals: [signal], timeoutMs });
      events.push(...(await this.#page()));
    }
    return events;
  }

  async #page(): Promise<readonly RunEvent[]> {
    const page = await this.#stream.log.events(this.#after, READ_AT_ONCE);
    this.#after = page.at(-1)?.sequence ?? this.#after;
    return page;
  }

  async #sendAll(events: readonly RunEvent[]): Promise<void> {
    const { frames, bufferMs } = this.#stream;
    const due = events.flatMap((event) => [...frames.next(event)]);
    const last = due.at(-1);
    if (bufferMs === 0 || last === undefined) {
      for (const frame of due) await this.#send(frame);
      return;
    }
    await this.#send({ id: last.id, event: "batch", data: due.map(({ data }) => data) });
  }

  /** Until there is more; a comment now and then keeps the connection open. */
  async #rest(): Promise<void> {
    const { log, signal } = this.#stream;
    const silence = new Deadline({ signals: [signal], timeoutMs: KEEP_ALIVE_MS });
    await log.changed(this.#after, { signals: [silence.signal] });
    silence.clear();
    if (silence.isTimeOver) await this.#write(": keep-alive\n\n");
  }

  #send({ id, event, data }: Frame): Promise<void> {
    return this.#write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  async #write(text: string): Promise<void> {
    const { response, signal } = this.#stream;
    signal.throwIfAborted();
    if (response.write(text)) return;
    const patience = new Deadline({ signals: [signal], timeoutMs: SLOW_READER_MS });
    try {
      await once(response, "drain", { signal: patience.signal });
    } catch {
      // A listener that is let go because the server stops may still read what it was sent.
      if (patience.isTimeOver) response.destroy();
      throw new SlowReader("the listener does not read");
    } finally {
      patience.clear();
    }
  }
}
