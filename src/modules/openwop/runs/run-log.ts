/**
 * The log of one run: events are numbered, redacted and kept one group after the other, and nobody
 * hears of one that is not in the store. Nothing comes after the terminal event.
 * OpenWOP "run-event", SR-1
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

/** A run that is over has no more events. */
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

/** Events, and whether there will be more. */
interface EventPage {
  readonly events: readonly RunEvent[];
  readonly isComplete: boolean;
}

const MAX_PAGE_EVENTS = 1000;
const MAX_PAGE_BYTES = 1_048_576;
/** Events that are read in one turn of the loop, and octets of them where they are long: one is read in any case. */
const READ_AT_ONCE = 100;
export const OCTETS_AT_ONCE: number = 524_288;

/** Events that are read together, of those behind a sequence. */
interface Reading {
  readonly after: number;
  readonly most?: number;
}

/** Events of a run in order, no more than one turn of the loop is for; those of a long log in a turn of their own. */
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

/** How events are kept. */
type AppendOptions = Pick<StepOptions, "isHolders">;

type Step = RunStep<RunEntry, RunEvent>;
type Decide = (entry: RunEntry) => Step | undefined;

/** Answers that a run waits for: there are no more of them than it has waited. */
const ANSWERS: ReadonlySet<RunEventType> = new Set(["interrupt.resolved", "run.resumed"]);

export class RunLog {
  readonly run: Run;
  readonly #options: RunLogOptions;
  readonly #rules: EventRules<Omit<RunEvent, "sequence">>;
  /** By what is read: the readings that are under way. */
  readonly #readings = new Map<number, Promise<readonly RunEvent[]>>();
  #state: RunState;

  constructor(options: RunLogOptions) {
    const { run, state, limits } = options;
    this.run = run;
    this.#options = options;
    this.#state = state;
    this.#rules = {
      ...{ first: FIRST_EVENT, most: limits.events, mostBytes: limits.bytes, whenFull: "refuse" },
      // How a run ended, and what people said to it, is always kept.
      isNeeded: ({ type }) => isTerminal(type) || ANSWERS.has(type),
    };
  }

  /** The fold of what is kept; as long as a fork is copied, it waits for nothing that its source has waited for. */
  get state(): RunState {
    return asItStands(this.#state, this.run);
  }

  /** The request to pause the run behind the node that is executed. */
  get pause(): PauseRequest | undefined {
    return this.#entry?.pause;
  }

  /** Keeps that the run is to be paused, unless it has come to rest meanwhile. */
  async requestPause(request: PauseRequest): Promise<void> {
    const pause = this.#options.redact(request);
    await this.#advance(({ status, ...entry }) =>
      isOver(status) || isSuspended(status) ? undefined : { run: { ...entry, status, pause } },
    );
  }

  /**
   * Keeps a group of events, and what else has to change with them; all or nothing. What is to be
   * said may depend on where the run stands when its turn has come; where that is nothing, nothing changes.
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
   * Events behind a sequence, in order. Listeners that hear of an event all want the same: they are given one
   * reading of it, which took as long for each of them as all else about it.
   */
  events(after: number): Promise<readonly RunEvent[]> {
    const underWay = this.#readings.get(after);
    if (underWay !== undefined) return underWay;
    const reading = this.#read(after).finally(() => this.#readings.delete(after));
    this.#readings.set(after, reading);
    return reading;
  }

  /** All events behind a sequence, in order; some of them are read at once. */
  async *eventsBehind(after: number): AsyncGenerator<RunEvent> {
    for (let last = after; ; ) {
      const page = await this.events(last);
      yield* page;
      last = page.at(-1)?.sequence ?? last;
      if (page.length === 0 || last + 1 === this.#known) return;
    }
  }

  /** The octets of so many events, by what they have on average: nothing is known of one before it is read. */
  octetsOf(count: number): number {
    const { eventCount = 0, eventBytes = 0 } = this.#entry ?? {};
    return eventCount === 0 ? 0 : (count * eventBytes) / eventCount;
  }

  #read(after: number): Promise<readonly RunEvent[]> {
    const { register, run } = this.#options;
    return readTogether(register, run.runId, { after });
  }

  /** Wanted events behind a sequence, as far as one answer goes: bounded in number and in octets. */
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

  /** Resolves when there is more than `sequence`, or when the wait is ended. */
  changed(sequence: number, wait: Ends): Promise<void> {
    return this.#until(
      ({ nextSequence, status }) => nextSequence > sequence + 1 || isOver(status),
      wait,
    );
  }

  /** Resolves when the run is over or waits for somebody, or when the wait is ended. */
  atRest(wait: Ends): Promise<void> {
    return this.#until(({ status }) => isOver(status) || isSuspended(status), wait);
  }

  /** Takes in events that somebody else has kept. @throws where there are not so many of them */
  async catchUp(count = 0): Promise<void> {
    for await (const event of this.eventsBehind(this.#state.nextSequence - 1)) {
      const isNext = event.sequence === this.#state.nextSequence;
      if (isNext) this.#state = applyEvent(this.#state, event, this.run);
    }
    // More may have come meanwhile, and a run that is gone has none.
    if (this.#state.nextSequence < count && this.isBehind) {
      throw new Error("the log of a run has a gap");
    }
  }

  /** There are events that another node has kept, and that are not folded yet. */
  get isBehind(): boolean {
    return this.#known > this.#state.nextSequence;
  }

  /** So many events are known of. */
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

  /** Takes a step from the end of the log, wherever that is when its turn has come. */
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

  /** Takes in where the run stands: events that were read may be newer. @throws where they are no run's */
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
      // A payload is folded now as a later process reads it.
      payload: JSON.parse(JSON.stringify(redactPayload(said, redact))),
    }));
  }
}

/** It goes on by itself, whatever it has copied so far: nobody can answer it, and a kill leaves it to the next process. */
function asItStands(state: RunState, { source }: Run): RunState {
  const isCopied = source !== undefined && state.nextSequence < source.copied;
  return isCopied && isSuspended(state.status) ? { ...state, status: "running" } : state;
}
