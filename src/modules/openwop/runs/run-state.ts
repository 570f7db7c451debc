/**
 * The state of a run, folded from its events alone: the same log gives the same state in every process.   OpenWOP
 * "run-snapshot", "replay"
 */
import { given, isRecord, type JsonRecord, memberOf, recordIn } from "../../../base/json-value.ts";
import type { Handoff, RunError } from "../agent-executor.ts";
import type { PinnedAgent, WorkflowDefinition } from "../workflows/workflow.ts";
import { isWaiting, type Run, type RunStatus } from "./run.ts";
import type { Waiting } from "./run-entry.ts";

export interface NodeState {
  readonly status: "running" | "suspended" | "completed" | "failed" | "skipped" | "cancelled";
  readonly startedAt?: string;
  /** The sequence of its latest node.started. */
  readonly startedSequence?: number;
  readonly attempt?: number;
  readonly completedAt?: string;
  readonly outputs?: JsonRecord;
  readonly error?: RunError;
  /** The agent that takes over, until its first event. */
  readonly handedTo?: string;
  /** The child run that it waits for. */
  readonly childRunId?: string;
}

/** One principal's vote on a gate. */
export interface Vote {
  readonly by: string;
  readonly action: string;
}

/** The kinds of interrupts. */
export type InterruptKind = "low-confidence" | "approval" | "clarification";

/** A question that suspends a node. */
export interface Interrupt {
  readonly interruptId: string;
  /** Identical for the same question in every process. */
  readonly key: string;
  readonly nodeId: string;
  readonly kind: InterruptKind;
  readonly data: JsonRecord;
  /** The schema of the answer; undefined accepts any value. */
  readonly resumeSchema?: JsonRecord;
  /** The votes so far, if a gate needs several. */
  readonly votes: readonly Vote[];
  /** The handoff that follows an approval. */
  readonly handoff?: Handoff;
  readonly requestedAt: string;
  /** The time that the node waits; undefined for the run's limit. */
  readonly timeoutMs?: number;
  readonly isResolved: boolean;
}

/** The folded state of a log. */
export interface RunState {
  readonly status: RunStatus;
  readonly nextSequence: number;
  readonly startedAt?: string;
  readonly completedAt?: string;
  /** Set while paused. */
  readonly pausedAt?: string;
  readonly resumedAt?: string;
  /** The sequence of its latest run.resumed. */
  readonly resumedSequence?: number;
  readonly currentNodeId?: string;
  readonly agent?: PinnedAgent;
  readonly nodes: Readonly<Record<string, NodeState>>;
  readonly variables: JsonRecord;
  readonly outputs?: JsonRecord;
  readonly error?: RunError;
  /** The number of started nodes, counting restarts. */
  readonly executions: number;
  /** The number of times each loop edge was taken, by edge id. */
  readonly loops: Readonly<Record<string, number>>;
  /** The target of the last loop edge taken, and the total number taken. */
  readonly backTo?: { readonly nodeId: string; readonly round: number };
  /** By node id. */
  readonly interrupts: Readonly<Record<string, Interrupt>>;
}

export interface StandingRun {
  readonly run: Run;
  readonly state: RunState;
}

/** The state before the first event. */
export function initialState({ workflow, inputs, parent, source }: Run): RunState {
  const unset = new Set((parent ?? source)?.unset);
  const defaults = workflow.variables.flatMap(({ name, defaultValue }) =>
    defaultValue === undefined || unset.has(name) ? [] : [[name, defaultValue] as const],
  );
  const variables = { ...Object.fromEntries(defaults), ...inputs };
  const nothing = { nodes: {}, interrupts: {}, loops: {}, executions: 0 };
  return { status: "pending", nextSequence: 0, variables, ...nothing };
}

export interface InterruptAnswer {
  readonly resumeValue: unknown;
  readonly by: string;
  /** Other names by which a gate may list the answerer. */
  readonly alsoKnownAs?: readonly string[];
  /** The interrupt that is answered; undefined for the node's current one. */
  readonly interruptId?: string;
  /** The required meaning of the value; undefined for any. */
  readonly isApproving?: boolean;
  /** True if the caller decides the escalation itself, so that watchers are not notified. */
  readonly isToldByCaller?: boolean;
}

/** The outcome of a resolved interrupt, and its last answerer. */
export interface InterruptOutcome {
  /** False if the decision was rejected or the gate not approved, even if a loop is taken for it. */
  readonly isAccepted: boolean;
  readonly by: string;
}

/** The run at the time of the answer. */
export interface Answering {
  readonly state: RunState;
  readonly run: Run;
  readonly now: number;
}

/** Encodes a plain yes or no for a kind of interrupt. */
export function plainAnswer(kind: InterruptKind, isAccepted: boolean, reason?: string): JsonRecord {
  const comment = reason === undefined ? {} : { comment: reason };
  if (kind === "approval") return { action: isAccepted ? "accept" : "reject", ...comment };
  return { [isAccepted ? "ratified" : "rejected"]: true, ...given({ reason }) };
}

/** A watcher of runs' interrupts. */
export interface InterruptWatcher {
  /** Called when a run starts to wait, or a vote leaves it waiting. */
  onInterrupt(run: Run, interrupt: Interrupt): void;
  /** Called when an interrupt ends; `outcome` is undefined if the run ended without an answer. */
  onAnswer(run: Run, interrupt: Interrupt, outcome: InterruptOutcome | undefined): void;
  /** Called when the store did not confirm an answer. */
  onDoubt(): void;
}

/** The reducers that combine a written value with the channel's. */
export const REDUCERS = ["append", "replace", "merge", "counter", "votes", "feedback"] as const;

/** The name of a reducer. */
type Reducer = (typeof REDUCERS)[number];

export interface ChannelRule {
  readonly reducer: Reducer;
  /** The lifetime of list entries; 0 for unlimited. */
  readonly ttlMs: number;
  readonly maxSize: number;
}

/** One year. */
export const MAX_TTL_MS = 31_536_000_000;
/** The maximum of list entries by default. */
const DEFAULT_SIZE = 1000;

interface Entry {
  readonly value: unknown;
  /** Milliseconds since the epoch. */
  readonly _ts: number;
}

/** Reads a rule from a node's config. */
export function readRule({ reducer, ttlMs, maxSize }: JsonRecord): ChannelRule {
  return {
    reducer: REDUCERS.find((one) => one === reducer) ?? "append",
    ttlMs: typeof ttlMs === "number" ? ttlMs : 0,
    maxSize: typeof maxSize === "number" ? maxSize : DEFAULT_SIZE,
  };
}

/**
 * Returns a channel's value after a write at `at`. A channel is a variable of the run; list entries past their lifetime
 * are dropped.   OpenWOP "channels-and-reducers"
 */
export function written(before: unknown, value: unknown, at: number, rule: ChannelRule): unknown {
  switch (rule.reducer) {
    case "replace":
      return value;
    case "merge":
      return { ...recordIn(before), ...recordIn(value) };
    case "counter":
      return (typeof before === "number" ? before : 0) + Number(value);
    case "append":
    case "feedback":
      return grown(entriesOf(before), { value, _ts: at }, rule);
    case "votes": {
      const voter = voterOf(value);
      const others = entriesOf(before).filter((one) => voterOf(one.value) !== voter);
      return grown(others, { value, _ts: at }, rule);
    }
  }
}

/** Returns a run's variables after a channel write. */
export function afterWrite(
  variables: JsonRecord,
  { channel, value, reducer, nodeId, writtenAt }: JsonRecord,
  { nodes }: WorkflowDefinition,
): JsonRecord {
  const name = String(channel);
  const config = nodes.find(({ id }) => id === nodeId)?.config ?? {};
  const rule = readRule({ ...config, reducer });
  const before = memberOf(variables, name);
  return { ...variables, [name]: written(before, value, Date.parse(String(writtenAt)), rule) };
}

function grown(
  before: readonly Entry[],
  entry: Entry,
  { ttlMs, maxSize }: ChannelRule,
): readonly Entry[] {
  const oldest = ttlMs > 0 ? entry._ts - ttlMs : Number.NEGATIVE_INFINITY;
  return [...before.filter(({ _ts }) => _ts >= oldest), entry].slice(-maxSize);
}

function entriesOf(value: unknown): readonly Entry[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one) => isRecord(one) && typeof one["_ts"] === "number");
}

function voterOf(value: unknown): unknown {
  return isRecord(value) ? (value["voter"] ?? value["userId"]) : undefined;
}

/** The version of runs with an event log; below 2, clients expect a snapshot only.   OpenWOP "version-negotiation" */
export const EVENT_LOG_SCHEMA_VERSION = 2;

/** The snapshot of a run, which depends only on the run and its state. */
export function runSnapshot(run: Run, state: RunState): JsonRecord {
  const { runId, workflow, owner, source, parent, scopeId, tags, metadata, configurable } = run;
  const { status, currentNodeId, startedAt, completedAt, pausedAt, agent } = state;
  const { variables, outputs, error } = state;
  const interrupt = openInterrupt(state);
  return {
    ...{ runId, workflowId: workflow.id, status },
    owner: { tenant: owner.tenant, principal: owner.principal },
    ...given({ currentNodeId, startedAt, completedAt, pausedAt, agent }),
    nodeStates: Object.fromEntries(Object.entries(state.nodes).map(withoutSequence)),
    variables,
    ...given({
      outputs,
      error,
      interrupt: interrupt && interruptView(interrupt),
      parentNodeId: parent?.nodeId,
      childDepth: parent?.depth,
      parentRunId: source?.runId ?? parent?.runId,
      parentSeq: source?.fromSeq,
      forkMode: source?.mode,
      scopeId,
    }),
    ...{ tags, metadata, configurable, eventLogSchemaVersion: EVENT_LOG_SCHEMA_VERSION },
  };
}

/** The interrupt that the run waits for. */
export function openInterrupt({ status, interrupts }: RunState): Interrupt | undefined {
  if (!isWaiting(status)) return undefined;
  return Object.values(interrupts).find(({ isResolved }) => !isResolved);
}

/** When the run began to wait, and its timeout; undefined if it is not waiting. */
export function waitingOf(state: RunState): Waiting | undefined {
  const { status, pausedAt = "" } = state;
  if (status === "paused") return { since: Date.parse(pausedAt) };
  const { requestedAt, timeoutMs } = openInterrupt(state) ?? {};
  return requestedAt === undefined
    ? undefined
    : { since: Date.parse(requestedAt), ...given({ timeoutMs }) };
}

/** An interrupt as readers see it. */
export function interruptView(interrupt: Interrupt): JsonRecord {
  const { interruptId, key, nodeId, kind, data, resumeSchema, timeoutMs, votes } = interrupt;
  const said = votes.length === 0 ? {} : { votes };
  return { interruptId, key, nodeId, kind, data, ...given({ resumeSchema, timeoutMs }), ...said };
}

/** The result of an agent's turn; for other workflows, all outputs. */
export function runResult({ outputs }: RunState): unknown {
  if (outputs === undefined) return undefined;
  return Object.hasOwn(outputs, "result") ? outputs["result"] : outputs;
}

function withoutSequence([nodeId, node]: readonly [string, NodeState]): [string, JsonRecord] {
  const { startedSequence: _, handedTo: __, ...shown } = node;
  return [nodeId, shown];
}

/** Describes a run that continues without its caller: pending, running, or waiting on its `interrupt`. */
export function acceptedRun({ run: { runId }, state }: StandingRun): JsonRecord {
  const interrupt = openInterrupt(state);
  return {
    ...{ runId, status: state.status, eventsUrl: `/runs/${runId}/events` },
    ...given({ interrupt: interrupt && interruptView(interrupt) }),
  };
}
