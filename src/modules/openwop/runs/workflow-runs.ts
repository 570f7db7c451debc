/**
 * The register of workflow runs across reloads and restarts: stores, finds and deletes them. Each has a log, from which
 * its state follows.
 */
import { isRecord } from "../../../base/json-value.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import { readEvents } from "../../../runs/event-log.ts";
import {
  openParts,
  type RegisterParts,
  RunRegister,
  type RunRegisterOptions,
} from "../../../runs/run-register.ts";
import type { SchemaCompiler } from "../../../schema/schema.ts";
import type { AddOptions, AlsoChange } from "../../../state/collection-write.ts";
import type { Store } from "../../../state/store.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { RunLimits } from "../config.ts";
import type { NodeTypes } from "../nodes/node-type.ts";
import type { Workflows } from "../workflows/load-workflows.ts";
import type { Redact } from "./redact.ts";
import {
  isOver,
  isSuspended,
  type Run,
  type RunEvent,
  type RunRefusal,
  type RunStop,
  runAlreadyActive,
  tooManyRuns,
} from "./run.ts";
import {
  entryOf,
  PENDING_RESULTS,
  RUNS,
  type RunEntry,
  scopeName,
  workflowRunKind,
} from "./run-entry.ts";
import { RunLog } from "./run-log.ts";
import { type Interrupt, type InterruptWatcher, initialState, type RunState } from "./run-state.ts";

/** The dependencies with which a deployment creates, executes, answers and ends runs. */
export interface RunParts {
  readonly register: WorkflowRuns;
  readonly workflows: Workflows;
  readonly types: NodeTypes;
  readonly catalog: AgentCatalog;
  readonly compiler: SchemaCompiler;
  readonly redact: Redact;
  readonly limits: RunLimits;
  readonly isConformance: boolean;
  /** True if agent events are advertised, which is required for emitting them.   RFC 0002 §D */
  readonly tellsOfAgents: boolean;
  readonly logger: Pick<CallLog, "warn">;
  /** Aborted when the server begins to stop, so that no caller waits for a run any longer. */
  readonly stopping: AbortSignal;
  /** Notified when runs start to wait or are answered. */
  readonly watchers: ReadonlySet<InterruptWatcher>;
  /** True once another deployment is served, or none: runs continue there with their next node. */
  isReplaced(): boolean;
}

/** The parts of a deployment that storing runs needs. */
type LogRules = Pick<RunParts, "limits" | "redact">;

interface KeepOptions {
  /** Changes to commit with the run. */
  readonly alongside?: readonly AlsoChange[];
  /** True to refuse if another run of its scope is unfinished. */
  readonly isOnly?: boolean;
}

/** The condition under which another run prevents this one. */
type Exclusion = Pick<AddOptions<RunEntry>, "turn" | "unless">;

const PAUSED: RunStop = { kind: "paused" };
const TAKEN: RunStop = { kind: "taken" };

/** Limits of the current deployment. */
interface Bounds {
  limits?: Partial<RunLimits>;
}

export class WorkflowRuns extends RunRegister<RunEntry, RunEvent> {
  readonly #store: Store;
  /** The limits of the deployment that called last. */
  readonly #bounds: Bounds;
  readonly #logs = new OpenLogs();

  constructor(store: Store, parts: RegisterParts<RunEntry, RunEvent>, bounds: Bounds) {
    super(parts);
    this.#store = store;
    this.#bounds = bounds;
    this.watch((before, after) => {
      if (countOf(after) < countOf(before)) this.#beginAnew(before, after);
      if (after === undefined) return;
      if (isOver(after.status)) this.#wakeParent(after);
      if (this.#isFromElsewhere(after)) this.#leave(after);
      if (this.hasLeft(before, after)) this.schedule.stop(after.runId, TAKEN);
    });
  }

  unfinished(): readonly RunEntry[] {
    return this.inPhase("active", "waiting");
  }

  /** The number of descendants of a topmost run. */
  countOfTree(rootRunId: string): number {
    return this.inGroup("tree", rootRunId).length;
  }

  /** Lists the direct children of a run. */
  childrenOf(runId: string): readonly RunEntry[] {
    const { rootRunId = runId } = this.find(runId) ?? {};
    const tree = this.inGroup("tree", rootRunId);
    return tree.filter(({ parentRunId }) => parentRunId === runId);
  }

  /** Queues a run for execution by its log, unless it is over. */
  enqueueLog({ run, state }: RunLog): void {
    const entry = this.find(run.runId);
    if (entry !== undefined && !isOver(state.status)) this.enqueue(entry);
  }

  /** Stores a run with further changes. */
  async keep(
    run: Run,
    rules: LogRules,
    { alongside = [], isOnly = false }: KeepOptions = {},
  ): Promise<RunLog | RunRefusal> {
    this.#bounds.limits = rules.limits;
    const exclusion = isOnly ? this.#exclusionOf(run) : {};
    let refusal = tooManyRuns();
    const log = await this.#logs.find(run.runId, async () => {
      const kept = { collection: RUNS, key: run.runId, value: run };
      const also: readonly AlsoChange[] = [{ kind: "put", ...kept }, ...alongside];
      const adding = await this.add({ run: entryOf(run) }, { also, ...exclusion });
      if (adding.kind === "added") return this.#openLog(run, rules, initialState(run));
      if (adding.kind === "taken") refusal = runAlreadyActive(adding.item.runId);
      return undefined;
    });
    return log ?? refusal;
  }

  async log(runId: string, rules: LogRules): Promise<RunLog | undefined> {
    if (this.find(runId) === undefined) return undefined;
    const log = await this.#logs.find(runId, async () => {
      const read = await this.#readLog(runId, rules);
      // A run deleted meanwhile may have been read incompletely.
      return this.find(runId) === undefined ? undefined : read;
    });
    if (log?.isBehind === true) await log.catchUp();
    return log;
  }

  /** The result of an interrupted node if its decision is approved. */
  async pendingResult(
    runId: string,
    { interruptId, nodeId }: Pick<Interrupt, "interruptId" | "nodeId">,
  ): Promise<unknown> {
    const kept = await this.#store.get(PENDING_RESULTS, `${runId}/${interruptId}`);
    // Earlier versions stored one per node.
    const value = kept ?? (await this.#store.get(PENDING_RESULTS, `${runId}/${nodeId}`));
    return isRecord(value) ? value["result"] : undefined;
  }

  /** Deletes runs past their retention. */
  async forget({ retentionSeconds }: Pick<RunLimits, "retentionSeconds">): Promise<void> {
    this.#bounds.limits = { ...this.#bounds.limits, retentionSeconds };
    await this.sweep();
  }

  /** An unfinished run excludes others of its scope. */
  #exclusionOf({ scopeId, owner: { tenant } }: Run): Exclusion {
    if (scopeId === undefined) return {};
    const scope = scopeName(tenant, scopeId);
    return { turn: `scope ${scope}`, unless: () => this.inGroup("scope", scope)[0] };
  }

  async #readLog(runId: string, rules: LogRules): Promise<RunLog | undefined> {
    const run = await this.#store.get(RUNS, runId);
    if (!isRecord(run)) return undefined;
    const log = this.#openLog(run as unknown as Run, rules, initialState(run as unknown as Run));
    await log.catchUp();
    return log;
  }

  #openLog(run: Run, { limits, redact }: LogRules, state: RunState): RunLog {
    return new RunLog({ register: this, run, limits, redact, state });
  }

  /** Drops the local state of a run that was deleted or whose store was rolled back. */
  #beginAnew({ runId }: RunEntry, after: RunEntry | undefined): void {
    this.#logs.forget(runId);
    this.schedule.stop(runId, TAKEN);
    this.#goOnWith(after);
  }

  /** Tells whether another node has stored events that an open log lacks. */
  #isFromElsewhere({ runId, eventCount = 0 }: RunEntry): boolean {
    const log = this.#logs.peek(runId);
    return log !== undefined && eventCount > log.state.nextSequence;
  }

  /** Stops the local execution of a run that another node has ended or paused. */
  #leave(entry: RunEntry): void {
    const { runId, status, principal } = entry;
    if (isOver(status)) {
      this.schedule.stop(runId, { kind: "cancelled", by: principal } satisfies RunStop);
      this.dequeue(entry);
    } else if (status === "paused") this.schedule.stop(runId, PAUSED);
  }

  /** Resumes a parent when its child is over. */
  #wakeParent({ parentRunId = "" }: RunEntry): void {
    this.#goOnWith(this.find(parentRunId));
  }

  #goOnWith(entry: RunEntry | undefined): void {
    if (entry === undefined || isOver(entry.status) || isSuspended(entry.status)) return;
    if (this.isOurs(entry)) this.enqueue(entry);
  }
}

/** Opens the stored runs. */
export async function openWorkflowRuns(
  store: Store,
  options: RunRegisterOptions = {},
): Promise<WorkflowRuns> {
  const bounds: Bounds = {};
  const kind = workflowRunKind(() => bounds.limits ?? {});
  const parts = await openParts<RunEntry, RunEvent>(store, kind, options);
  await countOldLogs(new RunRegister(parts));
  return new WorkflowRuns(store, parts, bounds);
}

/** Counts the events of entries from earlier versions, which lack the number. */
async function countOldLogs(runs: RunRegister<RunEntry, RunEvent>): Promise<void> {
  for (const { runId, eventCount } of runs.inPhase("active", "waiting")) {
    if (eventCount !== undefined) continue;
    const counts = { eventCount: 0, eventBytes: 0 };
    for await (const event of readEvents(runs, runId)) {
      counts.eventCount += 1;
      counts.eventBytes += Buffer.byteLength(JSON.stringify(event));
    }
    await runs.advance(runId, (entry) => ({ run: { ...entry, ...counts } }));
  }
}

/** The number of events; -1 for a deleted run, less than any other. */
function countOf(entry: RunEntry | undefined): number {
  return entry === undefined ? -1 : (entry.eventCount ?? 0);
}

/** The number of open logs at which collected ones are removed. */
const MIN_CLEANING = 256;

class OpenLogs {
  readonly #logs = new Map<string, WeakRef<RunLog>>();
  /** Logs being created or read. */
  readonly #opening = new Map<string, Promise<RunLog | undefined>>();
  #logsBeforeCleaning = MIN_CLEANING;

  /** Returns the log of a run; calls `open` if it is not in memory. */
  async find(runId: string, open: () => Promise<RunLog | undefined>): Promise<RunLog | undefined> {
    const known = this.#logs.get(runId)?.deref() ?? this.#opening.get(runId);
    if (known !== undefined) return known;
    const opening = open()
      .then((log) => {
        if (log !== undefined) this.#remember(log);
        return log;
      })
      .finally(() => this.#opening.delete(runId));
    this.#opening.set(runId, opening);
    return opening;
  }

  /** The log of a run if it is in memory. */
  peek(runId: string): RunLog | undefined {
    return this.#logs.get(runId)?.deref();
  }

  forget(runId: string): void {
    this.#logs.delete(runId);
  }

  #remember(log: RunLog): void {
    this.#logs.set(log.run.runId, new WeakRef(log));
    if (this.#logs.size < this.#logsBeforeCleaning) return;
    for (const [runId, known] of this.#logs) {
      if (known.deref() === undefined) this.#logs.delete(runId);
    }
    this.#logsBeforeCleaning = 2 * this.#logs.size + MIN_CLEANING;
  }
}
