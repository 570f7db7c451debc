/**
 * The state of a run, folded from its events and from nothing else: the same log gives the same
 * state in every process.   OpenWOP "run-snapshot", "replay"
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
  /** The agent that goes on, as long as it has done nothing yet. */
  readonly handedTo?: string;
  /** The run that it began, and waits for. */
  readonly childRunId?: string;
}

/** One principal's answer where several are asked for. */
export interface Vote {
  readonly by: string;
  readonly action: string;
}

/** Why a run may wait for somebody. */
export type InterruptKind = "low-confidence" | "approval" | "clarification";

/** The question that a node waits for. */
export interface Interrupt {
  readonly interruptId: string;
  /** The same for the same question, in each process. */
  readonly key: string;
  readonly nodeId: string;
  readonly kind: InterruptKind;
  readonly data: JsonRecord;
  /** The schema of the answer; undefined: any value means something. */
  readonly resumeSchema?: JsonRecord;
  /** The votes so far where more than one is asked for. */
  readonly votes: readonly Vote[];
  /** The handoff that follows where the answer is yes. */
  readonly handoff?: Handoff;
  readonly requestedAt: string;
  /** How long its node waits for the answer; undefined: as long as runs may. */
  readonly timeoutMs?: number;
  readonly isResolved: boolean;
}

/** The fold of a log. */
export interface RunState {
  readonly status: RunStatus;
  readonly nextSequence: number;
  readonly startedAt?: string;
  readonly completedAt?: string;
  /** Set while it is paused. */
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
  /** The number of begun nodes; one that was begun again counts again. */
  readonly executions: number;
  /** The number of times that an edge led back, by its id. */
  readonly loops: Readonly<Record<string, number>>;
  /** The node that an edge led back to last, and the number of times that any did. */
  readonly backTo?: { readonly nodeId: string; readonly round: number };
  /** By node. */
  readonly interrupts: Readonly<Record<string, Interrupt>>;
}

export interface StandingRun {
  readonly run: Run;
  readonly state: RunState;
}

/** Before the first event. */
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
  /** Other names that a gate may list this one under. */
  readonly alsoKnownAs?: readonly string[];
  /** The question that is meant; undefined: whatever the node waits for. */
  readonly interruptId?: string;
  /** The meaning that the value must have; undefined: whichever. */
  readonly isApproving?: boolean;
  /** The caller tells the people who were asked. */
  readonly isToldByCaller?: boolean;
}

/** The outcome of an interrupt that has its answer, and who gave the last of it. */
export interface InterruptOutcome {
  /** False: the decision was turned down, or the gate was not approved, whether or not a loop is taken for it. */
  readonly isAccepted: boolean;
  readonly by: string;
}

/** The state of the run when the answer comes. */
export interface Answering {
  readonly state: RunState;
  readonly run: Run;
  readonly now: number;
}

/** A plain yes or no, in the form that the kind of wait understands. */
export function plainAnswer(kind: InterruptKind, isAccepted: boolean, reason?: string): JsonRecord {
  const comment = reason === undefined ? {} : { comment: reason };
  if (kind === "approval") return { action: isAccepted ? "accept" : "reject", ...comment };
  return { [isAccepted ? "ratified" : "rejected"]: true, ...given({ reason }) };
}

/** Hears of interrupts of runs. */
export interface InterruptWatcher {
  /** The run waits, or has a vote and waits for others. */
  onInterrupt(run: Run, interrupt: Interrupt): void;
  /** The run has its answer; undefined: it has ended without one. */
  onAnswer(run: Run, interrupt: Interrupt, outcome: InterruptOutcome | undefined): void;
  /** A run may have its answer: the store has not said. */
  onDoubt(): void;
}

/** The reducer that joins a written value to the channel's own. */
export const REDUCERS = ["append", "replace", "merge", "counter", "votes", "feedback"] as const;

/** A way to put values of one channel together. */
type Reducer = (typeof REDUCERS)[number];

export interface ChannelRule {
  readonly reducer: Reducer;
  /** 0: an entry does not age. */
  readonly ttlMs: number;
  readonly maxSize: number;
}

/** A year. */
export const MAX_TTL_MS = 31_536_000_000;
/** Entries of a list, where its node asks for no fewer. */
const DEFAULT_SIZE = 1000;

interface Entry {
  readonly value: unknown;
  /** Milliseconds since the epoch. */
  readonly _ts: number;
}

/** A rule, as the configuration of a node has it. */
export function readRule({ reducer, ttlMs, maxSize }: JsonRecord): ChannelRule {
  return {
    reducer: REDUCERS.find((one) => one === reducer) ?? "append",
    ttlMs: typeof ttlMs === "number" ? ttlMs : 0,
    maxSize: typeof maxSize === "number" ? maxSize : DEFAULT_SIZE,
  };
}

/**
 * The content of a channel after a write; `at` is when it was written. A channel is a variable of the
 * run that its reducer writes to; entries of lists that are too old by then are left out.   OpenWOP
 * "channels-and-reducers"
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

/** The variables of a run after an event of a write. */
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

/** Below 2, readers take a run for one without events.   OpenWOP "version-negotiation" */
export const EVENT_LOG_SCHEMA_VERSION = 2;

/** The snapshot; the same run at the same event always has the same one. */
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

/** Since when a run waits for somebody; undefined: it does not. */
export function waitingOf(state: RunState): Waiting | undefined {
  const { status, pausedAt = "" } = state;
  if (status === "paused") return { since: Date.parse(pausedAt) };
  const { requestedAt, timeoutMs } = openInterrupt(state) ?? {};
  return requestedAt === undefined
    ? undefined
    : { since: Date.parse(requestedAt), ...given({ timeoutMs }) };
}

/** An interrupt, as its readers see it. */
export function interruptView(interrupt: Interrupt): JsonRecord {
  const { interruptId, key, nodeId, kind, data, resumeSchema, timeoutMs, votes } = interrupt;
  const said = votes.length === 0 ? {} : { votes };
  return { interruptId, key, nodeId, kind, data, ...given({ resumeSchema, timeoutMs }), ...said };
}

/** The outcome of an agent's turn; of other workflows, all that they put out. */
export function runResult({ outputs }: RunState): unknown {
  if (outputs === undefined) return undefined;
  return Object.hasOwn(outputs, "result") ? outputs["result"] : outputs;
}

function withoutSequence([nodeId, node]: readonly [string, NodeState]): [string, JsonRecord] {
  const { startedSequence: _, handedTo: __, ...shown } = node;
  return [nodeId, shown];
}

/**
 * The facts that are told of a run that goes on without its caller: pending, running, or waiting for
 * the answer to its `interrupt`.
 */
export function acceptedRun({ run: { runId }, state }: StandingRun): JsonRecord {
  const interrupt = openInterrupt(state);
  return {
    ...{ runId, status: state.status, eventsUrl: `/runs/${runId}/events` },
    ...given({ interrupt: interrupt && interruptView(interrupt) }),
  };
}
