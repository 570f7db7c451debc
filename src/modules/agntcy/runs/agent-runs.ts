/**
 * The runs of AGNTCY agents: each is changed only where it stands as the change expects, with its result
 * and the events that say so.
 */

import type { Ends } from "../../../base/deadline.ts";
import { isRecord } from "../../../base/json-value.ts";
import { numberEvents } from "../../../runs/number-events.ts";
import type { NumberedEvent } from "../../../runs/run-kind.ts";
import type { RunWatcher } from "../../../runs/run-news.ts";
import { RunRegister, type RunStep, type StepOptions } from "../../../runs/run-register.ts";
import { RunSchedule } from "../../../runs/run-schedule.ts";
import { type Holders, holds } from "../../../state/holders.ts";
import type { Store } from "../../../state/store.ts";
import {
  type AgentRun,
  agentRunKind,
  EVENT_RULES,
  RESULTS,
  type RunEvent,
  type RunResult,
  type RunState,
} from "./run.ts";
import { type Reservation, RunPlaces, type WantedRun } from "./run-places.ts";

/** A run that begins. */
type NewRun = Pick<
  AgentRun,
  | "runId"
  | "base"
  | "owner"
  | "stranger"
  | "upstreamAgentId"
  | "upstreamRunId"
  | "deadlineAt"
  | "threadId"
  | "upstreamThreadId"
  | "mayLackEvents"
>;

/** The members of a run that change; undefined takes a member away. */
export type RunChange = {
  readonly [Member in ChangingMember]?: AgentRun[Member] | undefined;
};

type ChangingMember =
  | "status"
  | "deadlineAt"
  | "error"
  | "interrupt"
  | "isAnswerSent"
  | "mayLackEvents";

/** How a run has to stand for its change, and what goes with that. */
interface ChangeOptions extends Pick<StepOptions, "isHolders"> {
  readonly expected: readonly RunState[];
  readonly result?: RunResult;
  unless?(run: AgentRun): boolean;
}

type KeptEvent = RunEvent & NumberedEvent;

const DAY_MS = 86_400_000;
const KIND = agentRunKind({
  ...{ perOwner: 512, all: 4096, bytes: 268_435_456 },
  ...{ overMs: 7 * DAY_MS, interruptedMs: 30 * DAY_MS },
});
const MAX_EVENT_BYTES = 65_536;

export class AgentRuns {
  /** The runs that are followed; deployments hand them over by it. */
  readonly schedule: RunSchedule = new RunSchedule();
  readonly #store: Store;
  readonly #runs: RunRegister<AgentRun, KeptEvent>;
  readonly #places = new RunPlaces({ activePerOwner: 64, activePerBase: 128 });

  private constructor(store: Store, runs: RunRegister<AgentRun, KeptEvent>) {
    this.#store = store;
    this.#runs = runs;
  }

  /** Opens what an earlier process kept. */
  static async open(store: Store, holders?: Holders): Promise<AgentRuns> {
    const options = holders === undefined ? {} : { holders };
    return new AgentRuns(store, await RunRegister.open(store, KIND, options));
  }

  /** Calls back when another node is found gone, until the function that is answered was called. */
  onGone(listener: () => void): () => void {
    return this.#runs.holders.watch(listener);
  }

  /** Tells whether it is this process that a run belongs to. */
  isHeldHere(run: AgentRun): boolean {
    return holds(this.#runs.holders, run);
  }

  /** Makes this process the one that follows a run; false: another does. */
  claim(runId: string): Promise<boolean> {
    return this.#runs.claim(runId);
  }

  /** Calls the watcher with every change, until the function that is answered was called. */
  watch(watcher: RunWatcher<AgentRun>): () => void {
    return this.#runs.watch(watcher);
  }

  find(runId: string): AgentRun | undefined {
    return this.#runs.find(runId);
  }

  /** Those that are under way on a path, and that no other node follows. */
  pending(base: string): readonly AgentRun[] {
    const active = this.#runs.inPhase("active").filter((run) => run.base === base);
    return active.filter((run) => this.#runs.isOurs(run));
  }

  /** Those that wait for an answer, the oldest first. */
  interrupted(): readonly AgentRun[] {
    return this.#runs.inPhase("waiting");
  }

  /** An owner's, the newest first. */
  ofOwner(owner: string): readonly AgentRun[] {
    return this.#runs.ofOwner(owner).toReversed();
  }

  /** Tells whether a run of the thread is not over. */
  isBusy(threadId: string): boolean {
    if (this.#places.isThreadTaken(threadId)) return true;
    return this.#runs.inPhase("active", "waiting").some((run) => run.threadId === threadId);
  }

  async result(runId: string): Promise<RunResult> {
    const value = await this.#store.get(RESULTS, runId);
    return isRecord(value) ? value : {};
  }

  events(runId: string, after: number, limit: number): Promise<readonly KeptEvent[]> {
    return this.#runs.events(runId, after, limit);
  }

  /** Keeps room for one more; undefined: too many are under way. Release it, whatever comes. */
  reserve(wanted: WantedRun): Reservation | undefined {
    return this.#places.reserve(wanted, this.#runs.inPhase("active"));
  }

  /** Takes a run on. Undefined: there is no room, and nothing that could make any. */
  async add(wanted: NewRun): Promise<AgentRun | undefined> {
    const now = this.#runs.now();
    const begun = { status: "pending", startedAt: now, updatedAt: now } as const;
    const empty = { eventCount: 0, eventBytes: 0, isTruncated: false, resultBytes: 0 };
    const run = { ...wanted, ...begun, ...empty };
    const adding = await this.#runs.add(withEvents(run, [statusEvent(run)]));
    return adding.kind === "added" ? adding.item : undefined;
  }

  /**
   * Changes a run that stands as expected; undefined: it does not, and nothing changed.
   * @throws HolderLostError where another node follows it, of a change that is its follower's
   */
  change(
    runId: string,
    change: RunChange,
    { expected, result, unless, isHolders = false }: ChangeOptions,
  ): Promise<AgentRun | undefined> {
    const decide = (before: AgentRun): RunStep<AgentRun, KeptEvent> | undefined => {
      if (!expected.includes(before.status) || unless?.(before) === true) return undefined;
      const resultBytes = result === undefined ? before.resultBytes : sizeOf(result);
      const updatedAt = this.#runs.now();
      const run = compact({ ...before, ...change, resultBytes, updatedAt });
      return withEvents(run, run.status === before.status ? [] : [statusEvent(run)]);
    };
    const entry = { collection: RESULTS, key: runId, value: result };
    return this.#runs.advance(runId, decide, {
      also: result === undefined ? [] : [{ kind: "put", ...entry }],
      isHolders,
    });
  }

  /**
   * Keeps what is told of a run, as much as there is room for.
   * @throws HolderLostError where another node follows it, of what its follower is told
   */
  async record(
    runId: string,
    told: readonly RunEvent[],
    { isHolders = false }: Pick<StepOptions, "isHolders"> = {},
  ): Promise<void> {
    const at = new Date(this.#runs.now()).toISOString();
    const events = told.map((one) => fitEvent({ ...one, at }));
    const decide = (run: AgentRun): RunStep<AgentRun, KeptEvent> | undefined =>
      run.isTruncated ? undefined : withEvents(run, events);
    await this.#runs.advance(runId, decide, { isHolders });
  }

  /** Resolves when a run is not under way any more, or when the wait is ended. */
  settled(runId: string, wait: Ends): Promise<void> {
    return this.#runs.until(runId, () => this.find(runId)?.status !== "pending", wait);
  }
}

function withEvents(run: AgentRun, told: readonly RunEvent[]): RunStep<AgentRun, KeptEvent> {
  return numberEvents(run, told, EVENT_RULES) as RunStep<AgentRun, KeptEvent>;
}

/** Says how a run stands now. */
function statusEvent({ status, updatedAt, error }: AgentRun): RunEvent {
  const at = new Date(updatedAt).toISOString();
  return { type: "status", status, ...(error === undefined ? {} : { code: error.code }), at };
}

/** The event, or that there was one which is too large to be kept. */
function fitEvent(event: RunEvent): RunEvent {
  const bytes = sizeOf(event);
  if (bytes <= MAX_EVENT_BYTES) return event;
  return { type: event.type, at: event["at"], omitted: true, bytes };
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Without members that are undefined. */
function compact(run: { readonly [Member in keyof AgentRun]: AgentRun[Member] | undefined }) {
  const members = Object.entries(run).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as unknown as AgentRun;
}
