/**
 * The runs of workflows, through every reload and restart: taken on, found, read and forgotten. Each has
 * a log, and where it stands follows from that.
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

/** The parts that the runs of a deployment are made, executed, answered and ended with. */
export interface RunParts {
  readonly register: WorkflowRuns;
  readonly workflows: Workflows;
  readonly types: NodeTypes;
  readonly catalog: AgentCatalog;
  readonly compiler: SchemaCompiler;
  readonly redact: Redact;
  readonly limits: RunLimits;
  readonly isConformance: boolean;
  /** Events of agents are advertised: no others are told.   RFC 0002 §D */
  readonly tellsOfAgents: boolean;
  readonly logger: Pick<CallLog, "warn">;
  /** Aborted when nobody is to wait for a run any more: the server begins to stop. */
  readonly stopping: AbortSignal;
  /** They hear of every run that begins to wait, or has its answer. */
  readonly watchers: ReadonlySet<InterruptWatcher>;
  /** Another deployment is served, or none: its runs go on there, from their next nodes. */
  isReplaced(): boolean;
}

/** The options of a deployment for keeping runs. */
type LogRules = Pick<RunParts, "limits" | "redact">;

interface KeepOptions {
  /** Changes that are made with it. */
  readonly alongside?: readonly AlsoChange[];
  /** No other run of its scope may be under way. */
  readonly isOnly?: boolean;
}

/** The run that keeps another out. */
type Exclusion = Pick<AddOptions<RunEntry>, "turn" | "unless">;

const PAUSED: RunStop = { kind: "paused" };
const TAKEN: RunStop = { kind: "taken" };

/** Bounds that change with the deployment. */
interface Bounds {
  limits?: Partial<RunLimits>;
}

export class WorkflowRuns extends RunRegister<RunEntry, RunEvent> {
  readonly #store: Store;
  /** The bounds of the deployment that asked last. */
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

  /** The number of runs that were begun at any depth for one that stands at the top. */
  countOfTree(rootRunId: string): number {
    return this.inGroup("tree", rootRunId).length;
  }

  /** Lists the runs that a run began itself. */
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

  /** Keeps a run, and what has to change with it. */
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
      // A run that was forgotten meanwhile is not there, and what was read of it is not all of it.
      return this.find(runId) === undefined ? undefined : read;
    });
    if (log?.isBehind === true) await log.catchUp();
    return log;
  }

  /** The result that an interrupted node has where the answer is yes. */
  async pendingResult(
    runId: string,
    { interruptId, nodeId }: Pick<Interrupt, "interruptId" | "nodeId">,
  ): Promise<unknown> {
    const kept = await this.#store.get(PENDING_RESULTS, `${runId}/${interruptId}`);
    // An earlier version kept one for each node.
    const value = kept ?? (await this.#store.get(PENDING_RESULTS, `${runId}/${nodeId}`));
    return isRecord(value) ? value["result"] : undefined;
  }

  /** Forgets runs that have been over for long. */
  async forget({ retentionSeconds }: Pick<RunLimits, "retentionSeconds">): Promise<void> {
    this.#bounds.limits = { ...this.#bounds.limits, retentionSeconds };
    await this.sweep();
  }

  /** A run that is under way keeps another of its scope out. */
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

  /** A run that is gone, or whose store went back, is not as anybody here knows it. */
  #beginAnew({ runId }: RunEntry, after: RunEntry | undefined): void {
    this.#logs.forget(runId);
    this.schedule.stop(runId, TAKEN);
    this.#goOnWith(after);
  }

  /** A log that is open here lacks the latest events: another node has kept them. */
  #isFromElsewhere({ runId, eventCount = 0 }: RunEntry): boolean {
    const log = this.#logs.peek(runId);
    return log !== undefined && eventCount > log.state.nextSequence;
  }

  /** Stops a run here that another node has ended, paused or taken over. */
  #leave(entry: RunEntry): void {
    const { runId, status, principal } = entry;
    if (isOver(status)) {
      this.schedule.stop(runId, { kind: "cancelled", by: principal } satisfies RunStop);
      this.dequeue(entry);
    } else if (status === "paused") this.schedule.stop(runId, PAUSED);
  }

  /** A run that waits for another goes on when that is over. */
  #wakeParent({ parentRunId = "" }: RunEntry): void {
    this.#goOnWith(this.find(parentRunId));
  }

  #goOnWith(entry: RunEntry | undefined): void {
    if (entry === undefined || isOver(entry.status) || isSuspended(entry.status)) return;
    if (this.isOurs(entry)) this.enqueue(entry);
  }
}

/** Opens what an earlier process kept. */
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

/** Entries of earlier versions do not say how many events there are. */
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

/** The events of a run; of one that is gone, fewer than it ever had. */
function countOf(entry: RunEntry | undefined): number {
  return entry === undefined ? -1 : (entry.eventCount ?? 0);
}

/** The number of remembered logs from which on those that are gone are looked for. */
const MIN_CLEANING = 256;

class OpenLogs {
  readonly #logs = new Map<string, WeakRef<RunLog>>();
  /** The logs that are being created or read. */
  readonly #opening = new Map<string, Promise<RunLog | undefined>>();
  #logsBeforeCleaning = MIN_CLEANING;

  /** The log of a run; `open` is called where nobody has it. */
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

  /** The log of a run, where somebody works with it. */
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
