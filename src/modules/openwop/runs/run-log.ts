/**
 * The log of one run: events are numbered, redacted and stored group by group, and published only once stored. The
 * terminal event is the last.   OpenWOP "run-event", SR-1
 */

import { type Ends, within } from "../../../base/deadline.ts";
import { given } from "../../../base/json-value.ts";
import { turnOfLong } from "../../../handlers/paced-answers.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { type EventRules, numberEvents } from "../../../runs/run-kind.ts";
import type { RunRegister, RunStep, StepOptions } from "../../../runs/run-register.ts";
import type { RunLimits } from "../config.ts";
import { applyEvent } from "./fold-run.ts";
import { type Redact, redactPayload } from "./redact.ts";
import {
  type EventDraft,
  isOver,
  isSuspended,
  isTerminal,
  type PauseRequest,
  type Run,
  type RunEvent,
  type RunEventType,
} from "./run.ts";
import { FIRST_EVENT, type RunEntry } from "./run-entry.ts";
import { type RunState, waitingOf } from "./run-state.ts";

/** Thrown on appending to a run that is over. */
export class RunOverError extends Error {
  constructor() {
    super("the run is over");
    this.name = "RunOverError";
  }
}

interface RunLogOptions {
  readonly register: RunRegister<RunEntry, RunEvent>;
  readonly run: Run;
  readonly state: RunState;
  readonly redact: Redact;
  readonly limits: Pick<RunLimits, "events" | "bytes">;
}

/** A page of events, and whether it ends the log. */
interface EventPage {
  readonly events: readonly RunEvent[];
  readonly isComplete: boolean;
}

const MAX_PAGE_EVENTS = 1000;
const MAX_PAGE_BYTES = 1_048_576;
/** The maximum of events per read, and of octets by average size; at least one is read. */
const READ_AT_ONCE = 100;
export const OCTETS_AT_ONCE: number = 524_288;

/** The range of one read. */
interface Reading {
  readonly after: number;
  readonly most?: number;
}

/**
 * Reads the next events in order, as many as one turn of the event loop should handle; long logs wait for a turn of
 * their own.
 */
export async function readTogether(
  runs: Pick<RunRegister<RunEntry, RunEvent>, "find" | "events">,
  runId: string,
  { after, most = READ_AT_ONCE }: Reading,
): Promise<readonly RunEvent[]> {
  const { eventCount = 0, eventBytes = 0 } = runs.find(runId) ?? {};
  await turnOfLong(eventBytes);
  const octets = Math.max(1, eventCount === 0 ? 0 : eventBytes / eventCount);
  return runs.events(
    runId,
    after,
    Math.min(READ_AT_ONCE, most, Math.ceil(OCTETS_AT_ONCE / octets)),
  );
}

/** The options of an append. */
type AppendOptions = Pick<StepOptions, "isHolders">;

type Step = RunStep<RunEntry, RunEvent>;
type Decide = (entry: RunEntry) => Step | undefined;

/** Answers, whose number is bounded by that of the waits. */
const ANSWERS: ReadonlySet<RunEventType> = new Set(["interrupt.resolved", "run.resumed"]);

export class RunLog {
  readonly run: Run;
  readonly #options: RunLogOptions;
  readonly #rules: EventRules<Omit<RunEvent, "sequence">>;
  /** Reads in progress, by starting sequence. */
  readonly #readings = new Map<number, Promise<readonly RunEvent[]>>();
  #state: RunState;

  constructor(options: RunLogOptions) {
    const { run, state, limits } = options;
    this.run = run;
    this.#options = options;
    this.#state = state;
    this.#rules = {
      ...{ first: FIRST_EVENT, most: limits.events, mostBytes: limits.bytes, whenFull: "refuse" },
      // Never refused by a full log: the end of a run, and answers.
      isNeeded: ({ type }) => isTerminal(type) || ANSWERS.has(type),
    };
  }

  /** The state folded from the stored events; a fork still being copied has no open interrupt. */
  get state(): RunState {
    return asItStands(this.#state, this.run);
  }

  /** The pending request to pause after the current node. */
  get pause(): PauseRequest | undefined {
    return this.#entry?.pause;
  }

  /** Stores a request to pause, unless the run is suspended or over by then. */
  async requestPause(request: PauseRequest): Promise<void> {
    const pause = this.#options.redact(request);
    await this.#advance(({ status, ...entry }) =>
      isOver(status) || isSuspended(status) ? undefined : { run: { ...entry, status, pause } },
    );
  }

  /**
   * Atomically appends events with further changes. `drafts` may be computed from the state at commit time; without
   * events nothing is committed.
   */
  async append(
    drafts: readonly EventDraft[] | ((state: RunState) => readonly EventDraft[]),
    alongside: StepOptions["also"] = [],
    { isHolders = false }: AppendOptions = {},
  ): Promise<readonly RunEvent[]> {
    let events: readonly RunEvent[] = [];
    let state = this.#state;
    await this.#advance(
      (entry) => {
        const said = typeof drafts === "function" ? drafts(this.state) : drafts;
        if (said.length === 0) return undefined;
        if (isOver(this.#state.status)) throw new RunOverError();
        const numbered = numberEvents(entry, this.#complete(said), this.#rules);
        events = numbered.events;
        state = events.reduce((before, one) => applyEvent(before, one, this.run), this.#state);
        return { run: this.#standing(numbered.run, asItStands(state, this.run)), events };
      },
      {
        also: alongside,
        isHolders,
        onKept: () => {
          this.#state = state;
        },
      },
    );
    return events;
  }

  /**
   * Reads events after a sequence, in order. Concurrent callers share one read: for each of them, reading would cost as
   * much as everything else about the event.
   */
  events(after: number): Promise<readonly RunEvent[]> {
    const underWay = this.#readings.get(after);
    if (underWay !== undefined) return underWay;
    const reading = this.#read(after).finally(() => this.#readings.delete(after));
    this.#readings.set(after, reading);
    return reading;
  }

  /** Reads all events after a sequence, in order and in batches. */
  async *eventsBehind(after: number): AsyncGenerator<RunEvent> {
    for (let last = after; ; ) {
      const page = await this.events(last);
      yield* page;
      last = page.at(-1)?.sequence ?? last;
      if (page.length === 0 || last + 1 === this.#known) return;
    }
  }

  /** Estimates the size of events from the average, in octets. */
  octetsOf(count: number): number {
    const { eventCount = 0, eventBytes = 0 } = this.#entry ?? {};
    return eventCount === 0 ? 0 : (count * eventBytes) / eventCount;
  }

  #read(after: number): Promise<readonly RunEvent[]> {
    const { register, run } = this.#options;
    return readTogether(register, run.runId, { after });
  }

  /** A page of matching events after a sequence, bounded in number and octets. */
  async page(
    after: number,
    isWanted: (event: RunEvent) => boolean = () => true,
  ): Promise<EventPage> {
    const events: RunEvent[] = [];
    let bytes = 0;
    let last = after;
    for await (const event of this.eventsBehind(after)) {
      if (isWanted(event)) {
        bytes += Buffer.byteLength(JSON.stringify(event));
        if (bytes > MAX_PAGE_BYTES && events.length > 0) break;
        events.push(event);
      }
      last = event.sequence;
      if (events.length === MAX_PAGE_EVENTS) break;
    }
    const { status, nextSequence } = this.#state;
    return { events, isComplete: isOver(status) && last >= nextSequence - 1 };
  }

  /** Resolves once an event after `sequence` exists, the run is over, or the wait ends. */
  changed(sequence: number, wait: Ends): Promise<void> {
    return this.#until(
      ({ nextSequence, status }) => nextSequence > sequence + 1 || isOver(status),
      wait,
    );
  }

  /** Resolves once the run is over or suspended, or the wait ends. */
  atRest(wait: Ends): Promise<void> {
    return this.#until(({ status }) => isOver(status) || isSuspended(status), wait);
  }

  /** Applies events stored elsewhere. @throws if fewer than `count` exist */
  async catchUp(count = 0): Promise<void> {
    for await (const event of this.eventsBehind(this.#state.nextSequence - 1)) {
      const isNext = event.sequence === this.#state.nextSequence;
      if (isNext) this.#state = applyEvent(this.#state, event, this.run);
    }
    // Further events may have been added since, and a deleted run has none.
    if (this.#state.nextSequence < count && this.isBehind) {
      throw new Error("the log of a run has a gap");
    }
  }

  /** True if another node has stored events that are not folded here. */
  get isBehind(): boolean {
    return this.#known > this.#state.nextSequence;
  }

  /** The number of events in the run's entry. */
  get #known(): number {
    return this.#entry?.eventCount ?? 0;
  }

  get #entry(): RunEntry | undefined {
    const { register: runs, run } = this.#options;
    return runs.find(run.runId);
  }

  #until(isDone: (state: RunState) => boolean, wait: Ends): Promise<void> {
    const { register: runs, run } = this.#options;
    const isSeen = (): boolean => isDone(this.state);
    return within(wait, async (signal) => {
      for (;;) {
        await runs.until(run.runId, () => this.isBehind || isSeen(), { signals: [signal] });
        if (signal.aborted || !this.isBehind) return;
        await this.catchUp(this.#known);
      }
    });
  }

  /** Performs a step once this log is at the end of the stored events. */
  async #advance(decide: Decide, options: StepOptions = {}): Promise<void> {
    const { register: runs, run } = this.#options;
    let behind: number | undefined;
    const step: Decide = (entry) => {
      behind = entry.eventCount === this.#state.nextSequence ? undefined : entry.eventCount;
      return behind === undefined ? decide(entry) : undefined;
    };
    for (;;) {
      await runs.advance(run.runId, step, options);
      if (behind === undefined) return;
      if (behind > this.#state.nextSequence) await this.catchUp(behind);
      else await this.#refresh();
    }
  }

  /** Refreshes the run's entry, as the events read may be newer. @throws if the entry stays behind them */
  async #refresh(): Promise<void> {
    await this.#options.register.refresh();
    if (this.#known < this.#state.nextSequence) throw new Error("the log of a run has a gap");
  }

  #standing({ pause, waiting: _, ...entry }: RunEntry, state: RunState): RunEntry {
    const { status } = state;
    const isPauseWanted = pause !== undefined && !isOver(status) && status !== "paused";
    return {
      ...{ ...entry, status },
      ...(isOver(status) ? { endedAt: this.#options.register.now() } : {}),
      ...(isPauseWanted ? { pause } : {}),
      ...given({ waiting: waitingOf(state) }),
    };
  }

  #complete(drafts: readonly EventDraft[]): readonly Omit<RunEvent, "sequence">[] {
    const { run, redact, register: runs } = this.#options;
    const timestamp = new Date(runs.now()).toISOString();
    return drafts.map(({ nodeId, causationId, eventId, ...said }) => ({
      ...{ eventId: eventId ?? uuidv7(), runId: run.runId, type: said.type, timestamp },
      ...given({ nodeId, causationId }),
      // The payload is folded here just as a later process reads it.
      payload: JSON.parse(JSON.stringify(redactPayload(said, redact))),
    }));
  }
}

/** A fork still being copied counts as running: it cannot be answered, and the next process resumes it after a kill. */
function asItStands(state: RunState, { source }: Run): RunState {
  const isCopied = source !== undefined && state.nextSequence < source.copied;
  return isCopied && isSuspended(state.status) ? { ...state, status: "running" } : state;
}
