/**
 * One node of a run, taken from where the log ends: begun, or taken up again, executed, and said what
 * came of it.   OpenWOP RFC 0072 §B, "replay"
 */

import { type JsonRecord, memberOf } from "../../../base/json-value.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import type { RunError } from "../agent-executor.ts";
import type { PortValue, WorkflowNode } from "../workflows/workflow.ts";
import { findPinFault, pinMismatch } from "./agent-pins.ts";
import { beginNode } from "./begin-node.ts";
import type { ChildRuns } from "./child-request.ts";
import type { CopyOptions } from "./copy-history.ts";
import { begun, nodeFailed, runFailed } from "./endings.ts";
import { executeNode } from "./execute-node.ts";
import type { HandoffGate } from "./handoff-gate.ts";
import { interruptRequested, nodeCompleted, nodeSuspended } from "./node-events.ts";
import { putPendingResult } from "./run-entry.ts";
import type { EventDraft, RunEvent } from "./run-event.ts";
import type { RunLimits } from "./run-limits.ts";
import type { RunLog } from "./run-log.ts";
import type { RunState } from "./run-state.ts";

/** The parts that runs are executed with. */
export interface DriveOptions extends CopyOptions, HandoffGate {
  readonly children: ChildRuns;
  readonly limits: Pick<RunLimits, "loopIterations">;
}

/** A run that is being executed. */
export interface Driven {
  readonly log: RunLog;
  /** Its reason is a `RunStop`. */
  readonly signal: AbortSignal;
  readonly options: DriveOptions;
}

/** Before a node is begun. */
interface NodeEntry {
  /** The agent that worked last. */
  readonly pinned: string | undefined;
  /** The fault that no agent's node begins with. */
  readonly gate: RunError | undefined;
}

/** Takes a node; `waiting`: the run goes on when another one is over. */
export async function takeNode(
  driven: Driven,
  node: WorkflowNode,
  { pinned, gate }: NodeEntry,
): Promise<"done" | "waiting"> {
  const { log, signal, options } = driven;
  const { state } = log;
  const before = state.nodes[node.id];
  if (before?.status === "completed" || before?.status === "skipped") return "done";
  if (before?.status === "failed" && before.error !== undefined) {
    await append(driven, [runFailed(before.error, state, options.register.now(), node.id)]);
    return "done";
  }
  if (node.disabled === true) {
    const payload = { nodeId: node.id, reason: "disabled" };
    await append(driven, [{ type: "node.skipped", nodeId: node.id, payload }]);
    return "done";
  }
  signal.throwIfAborted();
  const error = (await begin(driven, node, pinned)) ?? gate ?? checkPin(driven, node);
  if (error === undefined) return executeAndRecord(driven, node);
  await failNode(driven, node.id, error);
  return "done";
}

/** Fails a node, and the run with it. */
export async function failNode(driven: Driven, nodeId: string, error: RunError): Promise<void> {
  const { run } = driven.log;
  await appendUnlessStopped(driven, (state) => [
    ...begun(state, run),
    ...nodeFailed(nodeId, error, state, driven.options.register.now()),
  ]);
}

/** Keeps events; an execution that was stopped says nothing more: the log says who stopped it. */
export function appendUnlessStopped(
  { log, signal }: Driven,
  drafts: (state: RunState) => readonly EventDraft[],
  alongside: readonly AlsoChange[] = [],
): Promise<readonly RunEvent[]> {
  return log.append(
    (state) => {
      signal.throwIfAborted();
      return drafts(state);
    },
    alongside,
    { isHolders: true },
  );
}

function append(driven: Driven, drafts: readonly EventDraft[]): Promise<readonly RunEvent[]> {
  return appendUnlessStopped(driven, () => drafts);
}

/** Says that the node is begun; answers the fault that keeps it from that. */
async function begin(
  driven: Driven,
  node: WorkflowNode,
  pinned: string | undefined,
): Promise<RunError | undefined> {
  const { run, state } = driven.log;
  const { types } = driven.options;
  const { events, error } = beginNode(node, pinned, { run, state, types });
  if (events.length > 0) await append(driven, events);
  return error;
}

/** Packs may have been changed since the run was created. */
function checkPin({ log, options }: Driven, { agent }: WorkflowNode): RunError | undefined {
  const scope = { catalog: options.catalog, tenant: log.run.owner.tenant };
  const fault = agent && findPinFault(agent, scope);
  return fault && pinMismatch(fault);
}

async function executeAndRecord(driven: Driven, node: WorkflowNode): Promise<"done" | "waiting"> {
  const { log, signal, options } = driven;
  const { run, state } = log;
  const read = readInputs(node, state);
  if (read.error !== undefined) {
    await failNode(driven, node.id, read.error);
    return "done";
  }
  const startedAt = Date.parse(state.nodes[node.id]?.startedAt ?? "");
  const outcome = await executeNode(node, read.inputs, {
    ...{ log, signal, startedAt, options },
    append: (drafts) => append(driven, drafts),
  });
  switch (outcome.kind) {
    case "failed":
      await failNode(driven, node.id, outcome.error);
      return "done";
    case "completed": {
      const completed = nodeCompleted(node, outcome.outputs, options.register.now() - startedAt);
      await append(driven, [...(outcome.events ?? []), completed]);
      return "done";
    }
    case "waiting":
      await append(driven, outcome.events);
      return "waiting";
    case "suspended": {
      const startedSequence = state.nodes[node.id]?.startedSequence ?? 0;
      const at = { run, nodeId: node.id, startedSequence };
      await append(driven, interruptRequested(outcome.request, at));
      return "done";
    }
    case "low-confidence": {
      const suspended = nodeSuspended(node.id, outcome);
      const interruptId = String(suspended.payload["interruptId"]);
      await appendUnlessStopped(driven, () => [suspended], [
        putPendingResult(run.runId, interruptId, outcome.result),
      ]);
      return "done";
    }
  }
}

/** Every input, or the one that is missing. */
type NodeInputs =
  | { readonly inputs: JsonRecord; readonly error?: undefined }
  | { readonly inputs?: undefined; readonly error: RunError };

/** Puts them together; an optional one that is not there is left out. */
function readInputs(node: WorkflowNode, state: RunState): NodeInputs {
  const inputs: [string, unknown][] = [];
  for (const [name, port] of Object.entries(node.inputs)) {
    const value = readPort(port, state);
    if (value !== undefined) inputs.push([name, value]);
    else if (port.type !== "static" && port.optional !== true) {
      const message = `the input "${name}" has no value`;
      return { error: { code: "validation_error", message, details: { input: name } } };
    }
  }
  return { inputs: Object.fromEntries(inputs) };
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
