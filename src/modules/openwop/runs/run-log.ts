/**
 * The log of one run: events are numbered, redacted and kept one group after the other, and nobody
 * hears of one that is not in the store. After the terminal event there is nothing more.
 * OpenWOP "run-event", SR-1
 */
import { uuidv7 } from "../../../identity/uuid.ts";
import type { Change, Store } from "../../../state/store.ts";
import { applyEvent } from "./fold-run.ts";
import type { PauseRequest } from "./pause-request.ts";
import { isHeld, isOver, type Run } from "./run.ts";
import { type EventDraft, isTerminal, type RunEvent, type RunEventType } from "./run-event.ts";
import type { RunLimits } from "./run-limits.ts";
import type { RunState } from "./run-state.ts";
import { entryOf, putEntry, putEvent, type RunEntry } from "./run-storage.ts";

/** Takes what looks like a secret out of a value, before it is kept. */
export type Redact = <Value>(value: Value) => Value;

/** Why an event was not kept. */
export class RunLogError extends Error {
  /** `over`: after the terminal event. `full`: the run has said enough. */
  readonly reason: "over" | "full";

  constructor(reason: "over" | "full", message: string) {
    super(message);
    this.name = "RunLogError";
    this.reason = reason;
  }
}

/** What a log is opened with. */
export interface RunLogOptions {
  readonly store: Store;
  readonly run: Run;
  readonly state: RunState;
  readonly bytes: number;
  /** What an earlier process was asked. */
  readonly pause: PauseRequest | undefined;
  readonly redact: Redact;
  readonly limits: Pick<RunLimits, "eventsPerRun" | "bytesPerRun">;
  now(): number;
  /** Called with every new standing, once it is kept. */
  onEntry(entry: RunEntry): void;
}

/** Words that a run waits for: there are no more of them than it has waited. */
const WORDS: ReadonlySet<RunEventType> = new Set(["interrupt.resolved", "run.resumed"]);

export class RunLog {
  readonly run: Run;
  readonly #options: RunLogOptions;
  readonly #waiting = new Set<() => void>();
  #state: RunState;
  #bytes: number;
  #last: Promise<unknown> = Promise.resolve();
  #pause: PauseRequest | undefined;

  constructor(options: RunLogOptions) {
    this.run = options.run;
    this.#options = options;
    this.#state = options.state;
    this.#bytes = options.bytes;
    this.#pause = options.pause;
  }

  /** The fold of what is kept. */
  get state(): RunState {
    return this.#state;
  }

  /** Who has asked for the run to be paused behind the node that is executed. */
  get pause(): PauseRequest | undefined {
    return this.#pause;
  }

  /** Keeps that the run is to be paused, unless it has come to rest meanwhile. */
  requestPause(request: PauseRequest): Promise<void> {
    const next = this.#last.then(async () => {
      const { status } = this.#state;
      if (isOver(status) || isHeld(status)) return;
      const { store, run, now, onEntry, redact } = this.#options;
      const pause = redact(request);
      const entry = { ...entryOf(run, status, now()), pause };
      await store.commit([putEntry(entry)]);
      this.#pause = pause;
      onEntry(entry);
    });
    this.#last = next.catch(() => undefined);
    return next;
  }

  /**
   * Keeps a group of events, and what else has to change with them; all or nothing. What is to be
   * said may depend on where the run stands when its turn has come; nothing said, nothing changes.
   */
  append(
    drafts: readonly EventDraft[] | ((state: RunState) => readonly EventDraft[]),
    alongside: readonly Change[] = [],
  ): Promise<readonly RunEvent[]> {
    const next = this.#last.then(() => {
      const said = typeof drafts === "function" ? drafts(this.#state) : drafts;
      return said.length === 0 ? [] : this.#append(said, alongside);
    });
    this.#last = next.catch(() => undefined);
    return next;
  }

  /** Resolves when there is more than `sequence`, or when the signal says that nobody waits. */
  async changed(sequence: number, signal: AbortSignal): Promise<void> {
    if (this.#state.nextSequence > sequence + 1 || isOver(this.#state.status)) return;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done);
    });
  }

  async #append(
    drafts: readonly EventDraft[],
    alongside: readonly Change[],
  ): Promise<readonly RunEvent[]> {
    const { store, run, limits, now, onEntry } = this.#options;
    if (isOver(this.#state.status)) throw new RunLogError("over", "the run is over");
    // How a run ended, and what people said to it, is always kept.
    const isNeeded = drafts.some(({ type }) => isTerminal(type) || WORDS.has(type));
    const events = this.#number(drafts);
    const bytes = events.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0);
    const isFull =
      this.#state.nextSequence + events.length > limits.eventsPerRun ||
      this.#bytes + bytes > limits.bytesPerRun;
    if (isFull && !isNeeded) {
      throw new RunLogError("full", "the run has too many or too large events");
    }
    const state = events.reduce((before, one) => applyEvent(before, one, run), this.#state);
    const isNews = state.status !== this.#state.status;
    const isAsked = !isOver(state.status) && state.status !== "paused";
    const pause = isAsked ? this.#pause : undefined;
    const entry = { ...entryOf(run, state.status, now()), ...(pause && { pause }) };
    const kept = isNews ? [putEntry(entry)] : [];
    await store.commit([...events.map(putEvent), ...kept, ...alongside]);
    this.#state = state;
    this.#bytes += bytes;
    this.#pause = pause;
    if (isNews) onEntry(entry);
    for (const wake of [...this.#waiting]) wake();
    return events;
  }

  #number(drafts: readonly EventDraft[]): readonly RunEvent[] {
    const { run, redact, now } = this.#options;
    const at = now();
    const timestamp = new Date(at).toISOString();
    return drafts.map(({ type, payload, nodeId, causationId, eventId }, index) => ({
      ...{ eventId: eventId ?? uuidv7(), runId: run.runId },
      ...{ sequence: this.#state.nextSequence + index, type, timestamp },
      ...(nodeId === undefined ? {} : { nodeId }),
      ...(causationId === undefined ? {} : { causationId }),
      // What is folded now is what a later process reads.
      payload: JSON.parse(JSON.stringify(redact(payload))),
    }));
  }
}
