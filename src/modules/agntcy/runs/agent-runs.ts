/**
 * The register of AGNTCY runs: a change requires an expected status, and is stored atomically with its result and
 * events. Also the threads that runs belong to.   Agent Connect Protocol "Thread"
 */
import type { Ends } from "../../../base/deadline.ts";
import { mayHold } from "../../../base/fair-shares.ts";
import { recordIn } from "../../../base/json-value.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import { type NumberedEvent, numberEvents } from "../../../runs/run-kind.ts";
import {
  openParts,
  type RegisterParts,
  RunRegister,
  type RunStep,
  type StepOptions,
} from "../../../runs/run-register.ts";
import { Collection } from "../../../state/collection.ts";
import type { Holders } from "../../../state/holders.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { Store } from "../../../state/store.ts";
import {
  AGENT_RUNS,
  type AgentRun,
  EVENT_RULES,
  RESULTS,
  type RunEvent,
  type RunResult,
  type RunState,
} from "./run.ts";

/** A run before it begins. */
export type WantedRun = Pick<
  AgentRun,
  | "runId"
  | "base"
  | "owner"
  | "principalId"
  | "delegatedBy"
  | "stranger"
  | "deadlineAt"
  | "threadId"
  | "upstreamThreadId"
>;

type BegunRun = Pick<
  AgentRun,
  "upstreamAgentId" | "upstreamRunId" | "deadlineAt" | "mayLackEvents"
>;

/** The members of a run to change; undefined removes one. */
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

/** The precondition of a change, and what is stored with it. */
interface ChangeOptions extends Pick<StepOptions, "isHolders"> {
  readonly expected: readonly RunState[];
  readonly result?: RunResult;
  unless?(run: AgentRun): boolean;
}

type KeptEvent = RunEvent & NumberedEvent;

const ACTIVE_PER_OWNER = 64;
const ACTIVE_PER_BASE = 128;
const MAX_EVENT_BYTES = 65_536;
/** Admissions are serialized, since places are counted across owners and agents. */
const PLACES = "places";

export class AgentRuns extends RunRegister<AgentRun, KeptEvent> {
  readonly #store: Store;
  /** The runs that this process is beginning. */
  readonly #beginning = new Set<string>();

  constructor(store: Store, parts: RegisterParts<AgentRun, KeptEvent>) {
    super(parts);
    this.#store = store;
  }

  /** Lists the runs that wait for an answer, oldest first. */
  interrupted(): readonly AgentRun[] {
    return this.inPhase("waiting");
  }

  /** Hides runs that have not begun. */
  override find(runId: string): AgentRun | undefined {
    const run = super.find(runId);
    return run?.isBeginning === true ? undefined : run;
  }

  override newestOf(owner: string): readonly AgentRun[] {
    return super.newestOf(owner).filter(({ isBeginning = false }) => !isBeginning);
  }

  override isUnattended(run: AgentRun): boolean {
    return super.isUnattended(run) && !this.#beginning.has(run.runId);
  }

  async result(runId: string): Promise<RunResult> {
    const value = await this.#store.get(RESULTS, runId);
    return recordIn(value);
  }

  /**
   * Reserves a place for a run before its server is called; concurrent requests on all nodes are serialized. `busy`:
   * the thread has an unfinished run. `full`: the caller or the agent has too many, or the caller would take more
   * places than are left free.
   */
  async take(wanted: WantedRun): Promise<"added" | "busy" | "full"> {
    const now = this.now();
    const empty = { eventCount: 0, eventBytes: 0, isTruncated: false, resultBytes: 0 };
    const times = { startedAt: now, updatedAt: now };
    const unknown = { upstreamAgentId: "", upstreamRunId: "" };
    const run = { ...wanted, ...unknown, ...times, ...empty, status: "pending" } as const;
    const { runId, threadId } = wanted;
    this.#beginning.add(runId);
    try {
      const adding = await this.add(
        { run: { ...run, isBeginning: true } },
        {
          turn: PLACES,
          unless: () => (threadId === undefined ? undefined : this.busyIn(threadId)),
          hasRoom: () => this.#hasPlace(wanted),
        },
      );
      if (adding.kind !== "added") this.#beginning.delete(runId);
      return adding.kind === "taken" ? "busy" : adding.kind;
    } catch (error) {
      this.#beginning.delete(runId);
      throw error;
    }
  }

  /** Stores a begun run in its place; undefined if the place is gone. */
  async keep(runId: string, begun: BegunRun): Promise<AgentRun | undefined> {
    const kept = await this.advance(runId, ({ isBeginning, ...run }) => {
      const now = this.now();
      const known = { ...run, ...begun, startedAt: now, updatedAt: now };
      return withEvents(known, [statusEvent(known)]);
    });
    this.#beginning.delete(runId);
    return kept;
  }

  /** Releases the place of a run that did not begin; begun runs are kept. */
  async giveBack(runId: string): Promise<void> {
    this.#beginning.delete(runId);
    if (super.find(runId)?.isBeginning === true) await this.delete(runId);
  }

  /** The unfinished run of a thread. */
  busyIn(threadId: string): AgentRun | undefined {
    return this.inPhase("active", "waiting").find((run) => run.threadId === threadId);
  }

  #hasPlace(wanted: WantedRun): boolean {
    const owner = ownerOf(wanted);
    // Past its deadline, a run of an agent no longer served has no follower to end it.
    const isHeld = (run: AgentRun): boolean =>
      run.isBeginning === true || run.deadlineAt > this.now();
    const active = this.inPhase("active")
      .filter(isHeld)
      .map((run) => ({ owner: ownerOf(run), base: run.base }));
    const own = active.filter((one) => one.owner.key === owner.key).length;
    const there = active.filter(({ base }) => base === wanted.base);
    return own < ACTIVE_PER_OWNER && mayHold(owner, ACTIVE_PER_BASE, there);
  }

  /**
   * Changes a run if its status is expected; undefined if it is not.
   * @throws HolderLostError for a follower's change if another node follows the run
   */
  change(
    runId: string,
    change: RunChange,
    { expected, result, unless, isHolders = false }: ChangeOptions,
  ): Promise<AgentRun | undefined> {
    const decide = (before: AgentRun): RunStep<AgentRun, KeptEvent> | undefined => {
      if (!expected.includes(before.status) || unless?.(before) === true) return undefined;
      const resultBytes = result === undefined ? before.resultBytes : sizeOf(result);
      const updatedAt = this.now();
      const run = compact({ ...before, ...change, resultBytes, updatedAt });
      return withEvents(run, run.status === before.status ? [] : [statusEvent(run)]);
    };
    const entry = { collection: RESULTS, key: runId, value: result };
    return this.advance(runId, decide, {
      also: result === undefined ? [] : [{ kind: "put", ...entry }],
      isHolders,
    });
  }

  /**
   * Stores events of a run while there is room.
   * @throws HolderLostError for a follower's events if another node follows the run
   */
  async record(
    runId: string,
    told: readonly RunEvent[],
    { isHolders = false }: Pick<StepOptions, "isHolders"> = {},
  ): Promise<void> {
    const at = new Date(this.now()).toISOString();
    const events = told.map((one) => fitEvent({ ...one, at }));
    const decide = (run: AgentRun): RunStep<AgentRun, KeptEvent> | undefined =>
      run.isTruncated ? undefined : withEvents(run, events);
    await this.advance(runId, decide, { isHolders });
  }

  /** Resolves once a run is no longer pending, or the wait ends. */
  stopped(runId: string, wait: Ends): Promise<void> {
    return this.until(runId, () => this.find(runId)?.status !== "pending", wait);
  }
}

/** Opens the stored runs. */
export async function openAgentRuns(store: Store, holders: Holders): Promise<AgentRuns> {
  return new AgentRuns(store, await openParts<AgentRun, KeptEvent>(store, AGENT_RUNS, { holders }));
}

function withEvents(run: AgentRun, told: readonly RunEvent[]): RunStep<AgentRun, KeptEvent> {
  return numberEvents(run, told, EVENT_RULES) as RunStep<AgentRun, KeptEvent>;
}

function statusEvent({ status, updatedAt, error }: AgentRun): RunEvent {
  const at = new Date(updatedAt).toISOString();
  return { type: "status", status, ...(error === undefined ? {} : { code: error.code }), at };
}

/** Replaces an event that is too large by a note of its size. */
function fitEvent(event: RunEvent): RunEvent {
  const bytes = sizeOf(event);
  if (bytes <= MAX_EVENT_BYTES) return event;
  return { type: event.type, at: event["at"], omitted: true, bytes };
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Removes undefined members. */
function compact(run: { readonly [Member in keyof AgentRun]: AgentRun[Member] | undefined }) {
  const members = Object.entries(run).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as unknown as AgentRun;
}

/** An unknown caller may change its name, so its origin is its owner. */
function ownerOf({ owner, stranger }: Pick<AgentRun, "owner" | "stranger">): TaskOwner {
  return { key: stranger ?? owner, isKnown: stranger === undefined };
}

/** A caller's thread at an agent, with an id of this server. */
export interface AgentThread {
  readonly threadId: string;
  readonly base: string;
  /** The Agent-ID of its creator. */
  readonly owner: string;
  readonly upstreamThreadId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Opens the stored threads; a new one may displace its owner's oldest. */
export function openThreads(store: Store): Promise<Collection<AgentThread>> {
  return Collection.open(store, {
    name: "agntcy-threads",
    read: readThread,
    ownerOf: ({ owner }) => owner,
    orderOf: ({ createdAt }) => createdAt,
    quota: { perOwner: 256, all: 8192, sparesOthers: true },
  });
}

const readThread = recordReader<AgentThread>({
  ...{ threadId: "string", base: "string", owner: "string" },
  ...{ upstreamThreadId: "string", createdAt: "number" },
});
