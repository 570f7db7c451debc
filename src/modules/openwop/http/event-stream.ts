/**
 * A run's log as server-sent events, from the listener's position at the listener's pace. It closes after the last
 * event, or when the server stops: then it sends a reconnection delay, and the listener resumes. Slow readers and
 * revoked keys are disconnected.   OpenWOP "stream-modes", HTML "SSE"
 */
import { once } from "node:events";
import type { Writable } from "node:stream";
import { Deadline, within } from "../../../base/deadline.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import { applyEvent } from "../runs/fold-run.ts";
import { isOver, isTerminal, type Run, type RunEvent, type RunEventType } from "../runs/run.ts";
import type { RunHost } from "../runs/run-host.ts";
import { OCTETS_AT_ONCE, type RunLog } from "../runs/run-log.ts";
import { initialState, type RunState, runSnapshot } from "../runs/run-state.ts";
import { type ApiAnswer, refuse } from "./answer.ts";

/** The stream modes; `values` cannot be combined. */
export const STREAM_MODES = ["values", "updates", "messages", "debug"] as const;

type StreamMode = (typeof STREAM_MODES)[number];

/** Event types that `updates` omits. */
const DETAILS: ReadonlySet<RunEventType> = new Set([
  "node.started",
  "node.retried",
  "cap.breached",
  "variable.changed",
]);

/** Reads the modes of a query, by default `updates`. */
export function readModes(value: unknown): readonly StreamMode[] | ApiAnswer {
  if (value === undefined) return ["updates"];
  const names = String(value)
    .split(",")
    .slice(0, STREAM_MODES.length + 1);
  const modes = names.flatMap((name) => STREAM_MODES.find((mode) => mode === name.trim()) ?? []);
  const isMixed = modes.includes("values") && modes.length > 1;
  if (modes.length === names.length && !isMixed) return modes;
  const message = isMixed
    ? "streamMode=values cannot be mixed with others"
    : "the host has no such streamMode";
  return refuse(400, "unsupported_stream_mode", message, { supported: STREAM_MODES });
}

/** Tells whether one of the modes shows an event unchanged. */
export function isShown({ type }: RunEvent, modes: readonly StreamMode[]): boolean {
  return modes.includes("debug") || (modes.includes("updates") && !DETAILS.has(type));
}

/** Tells whether an event calls for a new snapshot; a reasoning delta changes nothing in it. */
function isStep({ type }: RunEvent): boolean {
  return type === "node.started" || !(DETAILS.has(type) || type === "agent.reasoning.delta");
}

const WAITING: ReadonlySet<RunEventType> = new Set(["node.suspended", "interrupt.requested"]);

/** Event types that end buffering at once. */
function isUrgent({ type }: RunEvent): boolean {
  return type.startsWith("run.") || WAITING.has(type);
}

interface Frame {
  /** Undefined if a later frame of the same event brings the id. */
  readonly id: number | undefined;
  readonly event: string;
  readonly data: unknown;
}

/**
 * Turns events into a listener's frames by mode: the events, run snapshots, or the text of an agent's reasoning.
 * OpenWOP "stream-modes"
 */
export class Frames {
  readonly #run: Run;
  readonly #modes: readonly StreamMode[];
  #state: RunState;
  #isThinking = false;

  constructor(run: Run, modes: readonly StreamMode[]) {
    this.#run = run;
    this.#modes = modes;
    this.#state = initialState(run);
  }

  /** Tells whether frames depend on earlier events, which are then read but not sent. */
  get needsHistory(): boolean {
    return this.#isOfValues || this.#modes.includes("messages");
  }

  get #isOfValues(): boolean {
    return this.#modes.includes("values");
  }

  /** Takes in an event that the listener already has. */
  pass(event: RunEvent): void {
    if (this.#isOfValues) this.#state = applyEvent(this.#state, event, this.#run);
    else this.#message(event);
  }

  /** The first frames for a reconnecting listener. */
  baseline(id: number): readonly Frame[] {
    return this.#isOfValues ? [this.#snapshot(id)] : [];
  }

  /** The frames of an event. */
  next(event: RunEvent): readonly Frame[] {
    const { sequence: id, type } = event;
    if (this.#isOfValues) {
      this.pass(event);
      return isStep(event) ? [this.#snapshot(id)] : [];
    }
    const chunks = this.#modes.includes("messages") ? this.#message(event) : [];
    if (!isShown(event, this.#modes)) return chunks;
    // Only the last frame has the id, so a listener cut off in between is sent both again.
    const shown = { id: chunks.length === 0 ? id : undefined, event: type, data: event };
    return [shown, ...chunks];
  }

  #snapshot(id: number): Frame {
    return { id, event: "state.snapshot", data: runSnapshot(this.#run, this.#state) };
  }

  #message({ sequence: id, type, payload, nodeId, runId }: RunEvent): readonly Frame[] {
    const chunk = (said: JsonRecord): Frame => {
      return { id, event: "ai.message.chunk", data: { nodeId, runId, ...said } };
    };
    if (type === "agent.reasoning.delta") {
      this.#isThinking = true;
      return [chunk({ chunk: payload["delta"], isLast: false })];
    }
    if (type !== "agent.reasoned" || !this.#isThinking) return [];
    this.#isThinking = false;
    return [chunk({ chunk: "", isLast: true })];
  }
}

/** A stream's events and its listener. */
export interface EventStream {
  readonly host: RunHost;
  readonly log: RunLog;
  readonly frames: Frames;
  /** The last sequence that the listener has; -1 for none. */
  readonly after: number;
  readonly isResumed: boolean;
  readonly bufferMs: number;
  readonly response: Writable;
  /** Aborted when the listener disconnects. */
  readonly signal: AbortSignal;
  /** Aborted when the listener's key may no longer read. */
  readonly ended: AbortSignal;
}

const MAX_BATCH = 500;
const KEEP_ALIVE_MS = 15_000;
/** Sent last if the server stops before the run ends. */
const FAREWELL = ": the server is stopping\nretry: 2000\n\n";
/** How long a listener may leave data unread. */
const SLOW_READER_MS = 30_000;

/** Sends events until the end and then ends the response. */
export async function sendEvents(stream: EventStream): Promise<void> {
  const { signals } = stream.host.whileServing(stream.signal);
  const ends = { signals: [...(signals ?? []), stream.ended] };
  await within(ends, async (signal) => {
    let isOver = false;
    try {
      isOver = await new Sender({ ...stream, signal }).run();
    } catch (error) {
      if (!(error instanceof SlowReader) && !signal.aborted) throw error;
    } finally {
      const isCutOff = signal.aborted && !isOver && !stream.ended.aborted;
      stream.response.end(isCutOff ? FAREWELL : undefined);
    }
  });
}

class SlowReader extends Error {}

class Sender {
  readonly #stream: EventStream;
  #after: number;

  constructor(stream: EventStream) {
    this.#stream = stream;
    this.#after = stream.after;
  }

  /** Resolves with true once the run is over and every event is sent. */
  async run(): Promise<boolean> {
    const { signal, log, frames, isResumed, after } = this.#stream;
    // Confirms the connection even before the first event.
    await this.#write(": connected\n\n");
    if (frames.needsHistory) await this.#passHistory();
    if (isResumed) for (const frame of frames.baseline(after)) await this.#send(frame);
    while (!signal.aborted) {
      const wasOver = isOver(log.state.status);
      const events = await this.#read();
      await this.#sendAll(events);
      if (events.some(({ type }) => isTerminal(type))) return true;
      if (events.length > 0) continue;
      // A run that was over or forgotten has no further events.
      if (wasOver) return true;
      await this.#rest();
    }
    return false;
  }

  async #passHistory(): Promise<void> {
    const { log, frames } = this.#stream;
    if (this.#after < 0) return;
    for await (const event of log.eventsBehind(-1)) {
      if (event.sequence > this.#after) return;
      frames.pass(event);
    }
  }

  /** Reads the available events, plus those that arrive within `bufferMs`. */
  async #read(): Promise<readonly RunEvent[]> {
    const { bufferMs, log, signal } = this.#stream;
    const events = [...(await this.#page())];
    if (bufferMs === 0 || events.length === 0) return events;
    const end = performance.now() + bufferMs;
    const hasRoom = (): boolean =>
      events.length < MAX_BATCH && log.octetsOf(events.length) < OCTETS_AT_ONCE;
    while (!events.some(isUrgent) && hasRoom() && performance.now() < end) {
      const timeoutMs = end - performance.now();
      await log.changed(this.#after, { signals: [signal], timeoutMs });
      events.push(...(await this.#page()));
    }
    return events;
  }

  async #page(): Promise<readonly RunEvent[]> {
    const page = await this.#stream.log.events(this.#after);
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

  /** Waits for more events; a periodic comment keeps the connection open. */
  async #rest(): Promise<void> {
    const { log, signal } = this.#stream;
    const silence = new Deadline({ signals: [signal], timeoutMs: KEEP_ALIVE_MS });
    await log.changed(this.#after, { signals: [silence.signal] });
    silence.clear();
    if (silence.isTimeOver) await this.#write(": keep-alive\n\n");
  }

  #send({ id, event, data }: Frame): Promise<void> {
    const named = id === undefined ? "" : `id: ${id}\n`;
    return this.#write(`${named}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  async #write(text: string): Promise<void> {
    const { response, signal } = this.#stream;
    signal.throwIfAborted();
    if (response.write(text)) return;
    const patience = new Deadline({ signals: [signal], timeoutMs: SLOW_READER_MS });
    try {
      await once(response, "drain", { signal: patience.signal });
    } catch {
      // A slow reader is cut off; one disconnected by a server stop may still read what was sent.
      if (patience.isTimeOver) response.destroy();
      throw new SlowReader("the listener does not read");
    } finally {
      patience.clear();
    }
  }
}
