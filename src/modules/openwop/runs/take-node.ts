/**
 * Executes one node from the end of the log: starts or resumes it, and records the outcome. A node that ignores the
 * signal is abandoned, and its later outcome discarded.   OpenWOP RFC 0072 §B, "replay"
 */
import { raceAbort } from "../../../base/deadline.ts";
import { type JsonRecord, memberOf } from "../../../base/json-value.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import { type AgentEvent, type Failure, failed, type RunError } from "../agent-executor.ts";
import type { NodeCall, NodeOutcome, NodeTypes } from "../nodes/node-type.ts";
import type { PortValue, WorkflowNode } from "../workflows/workflow.ts";
import { findPinFault, pinMismatch } from "./agent-pins.ts";
import { beginChild } from "./child-runs.ts";
import { isEffectful, isFoundAgain, missingSource } from "./fork-run.ts";
import { type EventDraft, MAX_NODE_EXECUTIONS, type Run, type RunEvent } from "./run.ts";
import { putPendingResult } from "./run-entry.ts";
import {
  begun,
  interruptRequested,
  nodeCompleted,
  nodeEvent,
  nodeFailed,
  nodeHandoff,
  nodeStarted,
  nodeSuspended,
  runFailed,
} from "./run-events.ts";
import type { RunLog } from "./run-log.ts";
import type { NodeState, RunState } from "./run-state.ts";
import type { RunParts } from "./workflow-runs.ts";

/** A run that is being executed. */
export interface Driven {
  readonly log: RunLog;
  /** Aborted with a `RunStop` as reason. */
  readonly signal: AbortSignal;
  readonly parts: RunParts;
}

/** The context in which a node starts. */
interface NodeEntry {
  /** The agent of the previous node. */
  readonly pinned: string | undefined;
  /** The handoff fault that fails the first node, if any. */
  readonly gate: RunError | undefined;
}

/** Takes a node to its end; `waiting` if it waits for a child run. */
export async function takeNode(
  driven: Driven,
  node: WorkflowNode,
  { pinned, gate }: NodeEntry,
): Promise<"done" | "waiting"> {
  const { log, signal, parts } = driven;
  const { state } = log;
  const before = memberOf(state.nodes, node.id);
  if (before?.status === "completed" || before?.status === "skipped") return "done";
  if (before?.status === "failed" && before.error !== undefined) {
    await append(driven, [runFailed(before.error, state, parts.register.now(), node.id)]);
    return "done";
  }
  if (node.disabled === true) {
    await append(driven, [nodeEvent("node.skipped", node.id, { reason: "disabled" })]);
    return "done";
  }
  signal.throwIfAborted();
  const from = parts.tellsOfAgents ? pinned : undefined;
  const { events, error } = beginNode(node, from, log, parts.types);
  if (events.length > 0) await append(driven, events);
  const fault = error ?? gate ?? checkPin(driven, node);
  if (fault === undefined) return executeAndRecord(driven, node);
  await failNode(driven, node.id, fault);
  return "done";
}

/** Fails a node and its run. */
export async function failNode(driven: Driven, nodeId: string, error: RunError): Promise<void> {
  await append(driven, (state) => [
    ...begun(state, driven.log.run),
    ...nodeFailed(nodeId, error, state, driven.parts.register.now()),
  ]);
}

/** Appends events unless the execution was stopped: the events of the stop are then the last. */
export function append(
  { log, signal }: Driven,
  drafts: readonly EventDraft[] | ((state: RunState) => readonly EventDraft[]),
  alongside: readonly AlsoChange[] = [],
): Promise<readonly RunEvent[]> {
  const said = (state: RunState): readonly EventDraft[] => {
    signal.throwIfAborted();
    return typeof drafts === "function" ? drafts(state) : drafts;
  };
  return log.append(said, alongside, { isHolders: true });
}

/** Checks the pin again, since packs may have changed since the run was created. */
function checkPin({ log, parts }: Driven, { agent }: WorkflowNode): RunError | undefined {
  const fault = agent && findPinFault(agent, parts.catalog, log.run.owner.tenant);
  return fault && pinMismatch(fault);
}

async function executeAndRecord(driven: Driven, node: WorkflowNode): Promise<"done" | "waiting"> {
  const { log, parts } = driven;
  const { run, state } = log;
  const read = readInputs(node, state);
  const { startedAt, startedSequence = 0 } = state.nodes[node.id] ?? {};
  const outcome = read.kind === "failed" ? read : await executeNode(driven, node, read.inputs);
  switch (outcome.kind) {
    case "failed":
      await failNode(driven, node.id, outcome.error);
      return "done";
    case "completed": {
      const elapsedMs = parts.register.now() - Date.parse(startedAt ?? "");
      const completed = nodeCompleted(node, outcome.outputs, elapsedMs);
      await append(driven, [...(outcome.events ?? []), completed]);
      return "done";
    }
    case "waiting":
      await append(driven, outcome.events);
      return "waiting";
    case "suspended":
      await append(driven, interruptRequested(outcome.request, run, node.id, startedSequence));
      return "done";
    case "low-confidence": {
      const suspended = nodeSuspended(node.id, outcome);
      const interruptId = String(suspended.payload["interruptId"]);
      await append(driven, [suspended], [putPendingResult(run.runId, interruptId, outcome.result)]);
      return "done";
    }
  }
}

/** Reads a node's inputs, omitting optional ones without a value. */
function readInputs(
  node: WorkflowNode,
  state: RunState,
): { readonly kind: "read"; readonly inputs: JsonRecord } | Failure {
  const inputs: [string, unknown][] = [];
  for (const [name, port] of Object.entries(node.inputs)) {
    const value = readPort(port, state);
    if (value !== undefined) inputs.push([name, value]);
    else if (port.type !== "static" && port.optional !== true) {
      const message = `the input "${name}" has no value`;
      return failed("validation_error", message, { input: name });
    }
  }
  return { kind: "read", inputs: Object.fromEntries(inputs) };
}

function readPort(port: PortValue, { variables, nodes }: RunState): unknown {
  switch (port.type) {
    case "static":
      return port.value;
    case "variable":
      return memberOf(variables, port.variableName);
    case "connection":
      return memberOf(memberOf(nodes, port.nodeId)?.outputs ?? {}, port.outputKey);
  }
}

/** Executes a started node; rejects once the signal is aborted. */
export async function executeNode(
  driven: Driven,
  node: WorkflowNode,
  inputs: JsonRecord,
): Promise<NodeOutcome> {
  const { log, signal, parts } = driven;
  const { run, state } = log;
  const type = parts.types.get(node.typeId);
  if (type === undefined) {
    const message = `this server runs no nodes of type "${node.typeId}" any more`;
    return failed("capability_not_provided", message);
  }
  let isOpen = true;
  const emit = async (event: AgentEvent): Promise<string> => {
    signal.throwIfAborted();
    if (!isOpen) throw new Error("the turn is over");
    const [kept] = await append(driven, [{ ...event, nodeId: node.id }]);
    return kept?.eventId ?? "";
  };
  const { startedAt = "", startedSequence = 0 } = state.nodes[node.id] ?? {};
  const place = { run, nodeId: node.id, startedSequence };
  const call: NodeCall = {
    ...{ run, state, node, inputs, startedAt: Date.parse(startedAt), startedSequence },
    ...{ now: parts.register.now(), signal, emit },
    beginChild: (request, isBegun) => beginChild(parts, place, request, isBegun),
    ...(await handedOn(driven, node)),
  };
  // The run may have been stopped since the node started.
  signal.throwIfAborted();
  try {
    const outcome = await raceAbort(Promise.resolve(type.execute(call)), signal);
    if (outcome === "aborted") throw signal.reason;
    return outcome;
  } finally {
    isOpen = false;
  }
}

/** The agent of an approved handoff, with its task. */
async function handedOn(
  { log: { run, state }, parts: { register } }: Driven,
  { id }: WorkflowNode,
): Promise<Pick<NodeCall, "handedOn">> {
  const agentId = state.nodes[id]?.handedTo;
  const interrupt = state.interrupts[id];
  if (agentId === undefined || interrupt === undefined) return {};
  return { handedOn: { agentId, task: await register.pendingResult(run.runId, interrupt) } };
}

/** The events that start a node, and the error if it must not be executed. */
interface Beginning {
  readonly events: readonly EventDraft[];
  readonly error?: RunError;
}

/**
 * Starts or resumes an unfinished node, with a handoff event if the agent changes from `pinned`. A node beyond the
 * execution limit, or an effect that a replay has no record of, is started and fails.   OpenWOP RFC 0002 §B, "replay"
 */
function beginNode(
  node: WorkflowNode,
  pinned: string | undefined,
  log: RunLog,
  types: NodeTypes,
): Beginning {
  const { run, state } = log;
  const before = memberOf(state.nodes, node.id);
  const isReplay = run.source?.mode === "replay";
  if (before?.status === "running" && !isDoneAgain(run, before)) {
    // After an approved handoff the next agent has not acted yet, so it simply takes its turn.
    if (before.handedTo !== undefined && !isReplay) return { events: [] };
    return takeUp(log, node.id, before, types);
  }
  if (before === undefined) {
    const beyond = checkLimit(node, log);
    if (beyond !== undefined) return beyond;
  }
  const events = [...nodeHandoff(node, pinned), nodeStarted(node, (before?.attempt ?? 0) + 1)];
  // A replay only reports recorded effects; it never performs the source's missing ones.
  const isLost = isReplay && isEffectful(run, node.id, types);
  return isLost ? { events, error: missingSource() } : { events };
}

/** A branch executes a node again if only its start was copied. */
function isDoneAgain({ source }: Run, { startedSequence = 0 }: NodeState): boolean {
  return source?.mode === "branch" && startedSequence < source.copied;
}

function checkLimit(
  { id }: WorkflowNode,
  { run, state: { executions } }: RunLog,
): Beginning | undefined {
  const { recursionLimit: asked } = run.configurable;
  const ofRun = typeof asked === "number" ? asked : MAX_NODE_EXECUTIONS;
  const limit = Math.min(ofRun, MAX_NODE_EXECUTIONS);
  if (executions < limit) return undefined;
  const payload = { kind: "node-executions", nodeId: id, limit, observed: executions + 1 };
  const message = `the run may execute ${limit} nodes at most`;
  return {
    events: [{ type: "cap.breached", nodeId: id, payload }],
    error: { code: "recursion_limit_exceeded", message },
  };
}

const PAUSED = { code: "run_paused", message: "the run was paused meanwhile" };
const STOPPED = { code: "run_interrupted", message: "the server stopped meanwhile" };

/**
 * Resumes a node interrupted by a stop, a pause or the copied end of a replay's source. It is retried if it has no
 * effect; an effect is never repeated.   OpenWOP "replay"
 */
function takeUp(
  { run, state }: RunLog,
  nodeId: string,
  { startedSequence = 0, attempt = 1 }: NodeState,
  types: NodeTypes,
): Beginning {
  const isCopied = startedSequence < (run.source?.copied ?? 0);
  // Its child run still exists and is found by id.
  if (!isCopied && isFoundAgain(run, nodeId, types)) return { events: [] };
  if (isEffectful(run, nodeId, types)) {
    const message = "the server stopped while this node was executed, and it is not done again";
    return { events: [], error: isCopied ? missingSource() : { code: "run_interrupted", message } };
  }
  const lastError = (state.resumedSequence ?? -1) > startedSequence ? PAUSED : STOPPED;
  return { events: [nodeEvent("node.retried", nodeId, { attempt: attempt + 1, lastError })] };
}
