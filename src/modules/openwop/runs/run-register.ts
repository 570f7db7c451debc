/**
 * All runs of this server, through every reload: created, found, read and forgotten. What was
 * answered for is in the store; how many there may be is bounded for each owner and for all.
 */
import type { Change, Store } from "../../../state/store.ts";
import { applyEvent } from "./fold-run.ts";
import { isHeld, isOver, type Run } from "./run.ts";
import type { RunEvent } from "./run-event.ts";
import { RunIndex } from "./run-index.ts";
import type { RunLimits } from "./run-limits.ts";
import { type Redact, RunLog } from "./run-log.ts";
import { RunSchedule } from "./run-schedule.ts";
import { initialState } from "./run-state.ts";
import {
  deleteEvents,
  deleteRun,
  entryOf,
  putEntry,
  putRun,
  type RunEntry,
  readDoomed,
  readEntries,
  readEvents,
  readHeld,
  readRun,
} from "./run-storage.ts";

/** What tests choose. */
export interface RunRegisterOptions {
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** How a deployment wants its logs kept. */
export interface LogRules {
  readonly limits: RunLimits;
  readonly redact: Redact;
}

const READ_AT_ONCE = 500;
/** How many logs are remembered before those that are gone are looked for. */
const MIN_CLEANING = 256;

export class RunRegister {
  readonly store: Store;
  readonly now: () => number;
  readonly schedule: RunSchedule = new RunSchedule();
  readonly #index = new RunIndex();
  /** There is one log of a run as long as anybody works with it, and never two. */
  readonly #logs = new Map<string, WeakRef<RunLog>>();
  /** Those that are being created or read. */
  readonly #opening = new Map<string, Promise<RunLog | undefined>>();
  readonly #forgetting = new Map<string, Promise<void>>();
  #logsBeforeCleaning = MIN_CLEANING;

  private constructor(store: Store, { now = Date.now }: RunRegisterOptions) {
    this.store = store;
    this.now = now;
  }

  /** Opens what an earlier process kept. */
  static async open(store: Store, options: RunRegisterOptions = {}): Promise<RunRegister> {
    const register = new RunRegister(store, options);
    const entries = [...(await readEntries(store))];
    entries.sort((left, right) => left.createdAt - right.createdAt);
    for (const entry of entries) register.#index.set(entry);
    for (const runId of await readDoomed(store)) await deleteEvents(store, runId);
    return register;
  }

  find(runId: string): RunEntry | undefined {
    return this.#index.get(runId);
  }

  /** The newest first. */
  ofOwner(owner: Pick<RunEntry, "tenant" | "principal">): readonly RunEntry[] {
    return this.#index.ofOwner(owner).toReversed();
  }

  unfinished(): readonly RunEntry[] {
    return this.#index.unfinished();
  }

  /** The run of a tenant's scope that is not over. */
  activeIn(tenant: string, scopeId: string): RunEntry | undefined {
    return this.unfinished().find((run) => run.tenant === tenant && run.scopeId === scopeId);
  }

  /** How many runs were begun for one that nobody began, at any depth. */
  countOfTree(rootRunId: string): number {
    return this.#index.ofTree(rootRunId).length;
  }

  /** Those that a run began itself. */
  childrenOf(runId: string): readonly RunEntry[] {
    const { rootRunId = runId } = this.#index.get(runId) ?? {};
    return this.#index.ofTree(rootRunId).filter(({ parentRunId }) => parentRunId === runId);
  }

  /** Keeps a run, and what else has to change with it; undefined: there is no room for it. */
  async create(
    run: Run,
    rules: LogRules,
    alongside: readonly Change[] = [],
  ): Promise<RunLog | undefined> {
    if (!this.#makeRoom(run, rules.limits)) return undefined;
    const entry = entryOf(run, "pending", this.now());
    // Counted before it is kept: many may be created at once. Whoever finds it so waits for its log.
    this.#index.set(entry);
    return this.#openOnce(run.runId, async () => {
      try {
        await this.store.commit([putRun(run), putEntry(entry), ...alongside]);
      } catch (error) {
        this.#index.delete(run.runId);
        throw error;
      }
      return this.#openLog(run, rules, { state: initialState(run), bytes: 0 });
    });
  }

  /** The log of a run that is kept. */
  async log(runId: string, rules: LogRules): Promise<RunLog | undefined> {
    if (this.#index.get(runId) === undefined) return undefined;
    const known = this.#logs.get(runId)?.deref() ?? this.#opening.get(runId);
    return known ?? this.#openOnce(runId, () => this.#readLog(runId, rules));
  }

  /** Events behind a sequence, in order. */
  events(runId: string, after: number, limit: number): Promise<readonly RunEvent[]> {
    return readEvents(this.store, runId, after, limit);
  }

  /** What a node's turn comes to if the word is yes. */
  held(runId: string, nodeId: string): Promise<unknown> {
    return readHeld(this.store, runId, nodeId);
  }

  /** Forgets what is over for long enough. */
  async sweep({ retentionMs }: Pick<RunLimits, "retentionMs">): Promise<void> {
    const old = this.#index.overBefore(this.now() - retentionMs);
    for (const { runId } of old) await this.#forget(runId);
  }

  /** Waits until nothing is being deleted any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#forgetting.values());
  }

  #openOnce(runId: string, open: () => Promise<RunLog | undefined>): Promise<RunLog | undefined> {
    const opening = open()
      .then((log) => {
        // What is forgotten meanwhile is not there, and what was read of it is not all of it.
        if (log === undefined || this.#index.get(runId) === undefined) return undefined;
        this.#remember(log);
        return log;
      })
      .finally(() => this.#opening.delete(runId));
    this.#opening.set(runId, opening);
    return opening;
  }

  async #readLog(runId: string, rules: LogRules): Promise<RunLog | undefined> {
    const run = await readRun(this.store, runId);
    if (run === undefined) return undefined;
    let state = initialState(run);
    let bytes = 0;
    for (;;) {
      const page = await this.events(runId, state.nextSequence - 1, READ_AT_ONCE);
      for (const event of page) {
        state = applyEvent(state, event, run);
        bytes += Buffer.byteLength(JSON.stringify(event));
      }
      if (page.length < READ_AT_ONCE) break;
    }
    return this.#openLog(run, rules, { state, bytes });
  }

  #remember(log: RunLog): void {
    this.#logs.set(log.run.runId, new WeakRef(log));
    if (this.#logs.size < this.#logsBeforeCleaning) return;
    for (const [runId, known] of this.#logs) {
      if (known.deref() === undefined) this.#logs.delete(runId);
    }
    this.#logsBeforeCleaning = 2 * this.#logs.size + MIN_CLEANING;
  }

  #openLog(
    run: Run,
    { limits, redact }: LogRules,
    from: Pick<ConstructorParameters<typeof RunLog>[0], "state" | "bytes">,
  ): RunLog {
    return new RunLog({
      ...{ store: this.store, run, limits, redact, now: this.now, ...from },
      pause: this.#index.get(run.runId)?.pause,
      onEntry: (entry) => {
        this.#index.set(entry);
        this.#wakeParent(entry);
      },
    });
  }

  /** Whoever waits for a run goes on when it is over. */
  #wakeParent({ status, parentRunId = "" }: RunEntry): void {
    const parent = isOver(status) ? this.#index.get(parentRunId) : undefined;
    if (parent === undefined || isOver(parent.status) || isHeld(parent.status)) return;
    this.schedule.add(parent);
  }

  #makeRoom({ owner }: Run, limits: RunLimits): boolean {
    const runs = this.#index.ofOwner(owner);
    const over = runs.filter(({ status }) => isOver(status));
    if (runs.length - over.length >= limits.unfinishedPerOwner) return false;
    const surplus = Math.max(0, runs.length + 1 - limits.perOwner);
    if (surplus > over.length) return false;
    const leaving = new Set(over.slice(0, surplus));
    const others = this.#index.size + 1 - leaving.size - limits.all;
    for (const entry of others > 0 ? this.#index.oldestOver(others, leaving) : [])
      leaving.add(entry);
    if (this.#index.size + 1 - leaving.size > limits.all) return false;
    for (const { runId } of leaving) {
      // Nobody waits for it: it is unknown from now on.
      void this.#forget(runId).catch(() => undefined);
    }
    return true;
  }

  async #forget(runId: string): Promise<void> {
    this.#index.delete(runId);
    this.#logs.delete(runId);
    const deleting = deleteRun(this.store, runId).finally(() => this.#forgetting.delete(runId));
    this.#forgetting.set(runId, deleting);
    await deleting;
  }
}
