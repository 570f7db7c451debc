/**
 * The runs of workflows, through every reload and restart: taken on, found, read and forgotten. Each has
 * a log, and where it stands follows from that.
 */

import { isRecord } from "../../../base/json-value.ts";
import { readEvents } from "../../../runs/event-log.ts";
import { RunRegister, type RunRegisterOptions } from "../../../runs/run-register.ts";
import { RunSchedule } from "../../../runs/run-schedule.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import type { Store } from "../../../state/store.ts";
import { OpenLogs } from "./open-logs.ts";
import { isHeld, isOver, ownerKey, type Run, type RunStop } from "./run.ts";
import { entryOf, HELD, RUNS, type RunEntry, scheduled, workflowRunKind } from "./run-entry.ts";
import type { RunEvent } from "./run-event.ts";
import type { RunLimits } from "./run-limits.ts";
import { type Redact, RunLog } from "./run-log.ts";
import { type RunRefusal, runAlreadyActive, tooManyRuns } from "./run-refusal.ts";
import { type Interrupt, initialState, type RunState } from "./run-state.ts";

/** The options of a deployment for keeping runs. */
export interface LogRules {
  readonly limits: RunLimits;
  readonly redact: Redact;
}

interface AddOptions {
  /** Changes that are made with it. */
  readonly alongside?: readonly AlsoChange[];
  /** No other run of its scope may be under way. */
  readonly isOnly?: boolean;
}

const PAUSED: RunStop = { kind: "paused" };
const TAKEN: RunStop = { kind: "taken" };

/** Bounds that change with the deployment. */
interface Bounds {
  limits?: Partial<RunLimits>;
}

export class WorkflowRuns {
  readonly schedule: RunSchedule = new RunSchedule();
  /** Milliseconds since the epoch. */
  readonly now = (): number => this.#runs.now();
  readonly #store: Store;
  readonly #runs: RunRegister<RunEntry, RunEvent>;
  /** Of the deployment that asked last. */
  readonly #bounds: Bounds;
  readonly #logs = new OpenLogs();
  /** Calls back when another node is found gone: its runs can be taken over. */
  readonly onGone: (listener: () => void) => () => void;

  private constructor(store: Store, runs: RunRegister<RunEntry, RunEvent>, bounds: Bounds) {
    this.#store = store;
    this.#runs = runs;
    this.#bounds = bounds;
    this.onGone = (listener) => runs.holders.watch(listener);
    runs.watch((before, after) => {
      if (countOf(after) < countOf(before)) this.#beginAnew(before, after);
      if (after === undefined) return;
      if (isOver(after.status)) this.#wakeParent(after);
      if (this.#isFromElsewhere(after)) this.#leave(after);
      if (runs.hasLeft(before, after)) this.schedule.stop(after.runId, TAKEN);
    });
  }

  /** Opens what an earlier process kept. */
  static async open(store: Store, options: RunRegisterOptions = {}): Promise<WorkflowRuns> {
    const bounds: Bounds = {};
    const kind = workflowRunKind(() => bounds.limits ?? {});
    const runs = await RunRegister.open<RunEntry, RunEvent>(store, kind, options);
    await countOldLogs(runs);
    return new WorkflowRuns(store, runs, bounds);
  }

  find(runId: string): RunEntry | undefined {
    return this.#runs.find(runId);
  }

  /** The newest first. */
  ofOwner(owner: Parameters<typeof ownerKey>[0]): readonly RunEntry[] {
    return this.#runs.ofOwner(ownerKey(owner)).toReversed();
  }

  /** Tells whether this process executes a run, or may take it over. */
  isOurs(entry: RunEntry): boolean {
    return this.#runs.isOurs(entry);
  }

  /** Makes this process the one that executes a run; false: another does. */
  claim(runId: string): Promise<boolean> {
    return this.#runs.claim(runId);
  }

  unfinished(): readonly RunEntry[] {
    return this.#runs.inPhase("active", "waiting");
  }

  /** The number of runs that were begun at any depth for one that stands at the top. */
  countOfTree(rootRunId: string): number {
    return this.#runs.inGroup("tree", rootRunId).length;
  }

  /** Those that a run began itself. */
  childrenOf(runId: string): readonly RunEntry[] {
    const { rootRunId = runId } = this.find(runId) ?? {};
    const tree = this.#runs.inGroup("tree", rootRunId);
    return tree.filter(({ parentRunId }) => parentRunId === runId);
  }

  /** Keeps a run, and what has to change with it. */
  async add(
    run: Run,
    rules: LogRules,
    { alongside = [], isOnly = false }: AddOptions = {},
  ): Promise<RunLog | RunRefusal> {
    this.#bounds.limits = rules.limits;
    const { scopeId, owner } = run;
    const exclusion = isOnly &&
      scopeId !== undefined && {
        turn: `scope ${owner.tenant} ${scopeId}`,
        unless: () => this.#activeIn(owner.tenant, scopeId),
      };
    let refusal = tooManyRuns();
    const log = await this.#logs.find(run.runId, async () => {
      const kept = { collection: RUNS, key: run.runId, value: run };
      const also: readonly AlsoChange[] = [{ kind: "put", ...kept }, ...alongside];
      const adding = await this.#runs.add({ run: entryOf(run) }, { also, ...(exclusion || {}) });
      if (adding.kind === "added") return this.#openLog(run, rules, initialState(run));
      if (adding.kind === "taken") refusal = runAlreadyActive(adding.item.runId);
      return undefined;
    });
    return log ?? refusal;
  }

  /** The log of a run that is kept. */
  async log(runId: string, rules: LogRules): Promise<RunLog | undefined> {
    if (this.find(runId) === undefined) return undefined;
    const log = await this.#logs.find(runId, async () => {
      const read = await this.#readLog(runId, rules);
      // A run that was forgotten meanwhile is not there, and what was read of it is not all of it.
      return this.find(runId) === undefined ? undefined : read;
    });
    if (log?.isBehind === true) await log.catchUp();
    return log;
  }

  /** Events behind a sequence, in order. */
  events(runId: string, after: number, limit: number): Promise<readonly RunEvent[]> {
    return this.#runs.events(runId, after, limit);
  }

  /** The result that an interrupted node has where the answer is yes. */
  async held(
    runId: string,
    { interruptId, nodeId }: Pick<Interrupt, "interruptId" | "nodeId">,
  ): Promise<unknown> {
    const kept = await this.#store.get(HELD, `${runId}/${interruptId}`);
    // An earlier version kept one for each node.
    const value = kept ?? (await this.#store.get(HELD, `${runId}/${nodeId}`));
    return isRecord(value) ? value["result"] : undefined;
  }

  /** Forgets runs that have been over for long. */
  async sweep({ retentionMs }: Pick<RunLimits, "retentionMs">): Promise<void> {
    this.#bounds.limits = { ...this.#bounds.limits, retentionMs };
    await this.#runs.sweep();
  }

  /** Waits until nothing is being deleted any more. */
  settled(): Promise<void> {
    return this.#runs.settled();
  }

  #activeIn(tenant: string, scopeId: string): RunEntry | undefined {
    return this.unfinished().find((run) => run.tenant === tenant && run.scopeId === scopeId);
  }

  async #readLog(runId: string, rules: LogRules): Promise<RunLog | undefined> {
    const run = await this.#store.get(RUNS, runId);
    if (!isRecord(run)) return undefined;
    const log = this.#openLog(run as unknown as Run, rules, initialState(run as unknown as Run));
    await log.catchUp();
    return log;
  }

  #openLog(run: Run, { limits, redact }: LogRules, state: RunState): RunLog {
    return new RunLog({ runs: this.#runs, run, limits, redact, state });
  }

  /** A run that is gone, or whose store went back, is not as anybody here knows it. */
  #beginAnew({ runId }: RunEntry, after: RunEntry | undefined): void {
    this.#logs.forget(runId);
    this.schedule.stop(runId, TAKEN);
    if (after === undefined || isOver(after.status) || isHeld(after.status)) return;
    if (this.isOurs(after)) this.schedule.add(scheduled(after));
  }

  /** A log that is open here lacks the latest events: another node has kept them. */
  #isFromElsewhere({ runId, eventCount = 0 }: RunEntry): boolean {
    const log = this.#logs.peek(runId);
    return log !== undefined && eventCount > log.state.nextSequence;
  }

  /** Stops a run here that another node has ended, paused or taken over. */
  #leave({ runId, status, tenant, principal }: RunEntry): void {
    if (isOver(status)) {
      this.schedule.stop(runId, { kind: "cancelled", by: principal } satisfies RunStop);
      this.schedule.remove(scheduled({ runId, tenant, principal }));
    } else if (status === "paused") this.schedule.stop(runId, PAUSED);
  }

  /** A run that waits for another goes on when that is over. */
  #wakeParent({ parentRunId = "" }: RunEntry): void {
    const parent = this.find(parentRunId);
    if (parent === undefined || isOver(parent.status) || isHeld(parent.status)) return;
    if (!this.isOurs(parent)) return;
    this.schedule.add(scheduled(parent));
  }
}

/** Entries of earlier versions do not say how many events there are. */
async function countOldLogs(runs: RunRegister<RunEntry, RunEvent>): Promise<void> {
  for (const { runId, eventCount } of runs.inPhase("active", "waiting")) {
    if (eventCount !== undefined) continue;
    const counts = { eventCount: 0, eventBytes: 0 };
    for await (const event of readEvents(runs, runId, -1)) {
      counts.eventCount += 1;
      counts.eventBytes += Buffer.byteLength(JSON.stringify(event));
    }
    await runs.advance(runId, (entry) => ({ run: { ...entry, ...counts } }));
  }
}

/** The events of a run; of one that is gone, fewer than it ever had. */
function countOf(entry: RunEntry | undefined): number {
  return entry === undefined ? -1 : (entry.eventCount ?? 0);
}
