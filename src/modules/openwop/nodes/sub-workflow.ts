/**
 * core.subWorkflow: starts another workflow for the same owner and waits for its end; the node maps the child's
 * variables back to its own names. A waiting parent occupies no execution slot.   OpenWOP "node-packs"
 * core.subWorkflow, RFC 0022 §B
 */
import { given, isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { closedObject } from "../../../schema/json-schema.ts";
import { failed } from "../agent-executor.ts";
import { type EventDraft, isOver } from "../runs/run.ts";
import { runResult, type StandingRun } from "../runs/run-state.ts";
import { NAME } from "../workflows/workflow.ts";
import type { ChildRequest, NodeCall, NodeOutcome, NodeType } from "./node-type.ts";

const MAPPING = { type: "object", maxProperties: 256, additionalProperties: NAME };

const CONFIG = closedObject(
  {
    workflowId: NAME,
    // Nobody could cancel a child that its parent does not wait for.
    ...{ waitForCompletion: { const: true }, propagateCancellation: { const: true } },
    onChildFailure: { enum: ["fail-parent", "continue"] },
    ...{ inputMapping: MAPPING, outputMapping: MAPPING },
  },
  ["workflowId"],
);

export const SUB_WORKFLOW_NODE: NodeType = {
  ...{ isEffectful: true, isFoundAgain: true, config: CONFIG, execute },
};

async function execute(call: NodeCall): Promise<NodeOutcome> {
  const { node, state } = call;
  const isDispatched = state.nodes[node.id]?.childRunId !== undefined;
  const child = await call.beginChild(requestOf(call), isDispatched);
  if ("code" in child) return { kind: "failed", error: child };
  const events = isDispatched ? [] : [dispatched(node.id, child)];
  return isOver(child.state.status) ? conclude(call, child, events) : { kind: "waiting", events };
}

/** The child's inputs: the node's inputs, and the parent's variables renamed by `inputMapping`. */
function requestOf({ node: { config }, inputs, state }: NodeCall): ChildRequest {
  const mapping = Object.entries(mappingOf(config["inputMapping"]));
  const isSet = (name: string): boolean => Object.hasOwn(state.variables, name);
  const mapped = mapping.flatMap(([theirs, ours]) =>
    isSet(ours) ? [[theirs, state.variables[ours]] as const] : [],
  );
  return {
    workflowId: String(config["workflowId"]),
    inputs: { ...inputs, ...Object.fromEntries(mapped) },
    // A mapped variable that the parent has not set also hides the child's default.
    unset: mapping.flatMap(([theirs, ours]) => (isSet(ours) ? [] : [theirs])),
  };
}

function dispatched(nodeId: string, { run, state }: StandingRun): EventDraft {
  const child = { childRunId: run.runId, childWorkflowId: run.workflow.id };
  const payload = { ...child, childStatus: state.status };
  return { type: "node.dispatched", nodeId, payload };
}

function conclude(
  { node, state }: NodeCall,
  { run: { runId: childRunId }, state: child }: StandingRun,
  events: readonly EventDraft[],
): NodeOutcome {
  const { onChildFailure, outputMapping } = node.config;
  const { status: childStatus } = child;
  const isDone = childStatus === "completed";
  if (!isDone && onChildFailure !== "continue") {
    const { error } = child;
    const details = { childRunId, childStatus, ...given({ error }) };
    const message = `the run of the sub-workflow is ${childStatus}`;
    return failed("subworkflow_child_failed", message, details);
  }
  const mapping = Object.entries(mappingOf(outputMapping));
  const changes = isDone ? mapping.flatMap(changed(node.id, child.variables, state.variables)) : [];
  const result = isDone ? { result: runResult(child) } : {};
  const outputMappingSkipped = !isDone && mapping.length > 0;
  const outputs = { childRunId, childStatus, outputMappingSkipped, ...result };
  return { kind: "completed", outputs, events: [...events, ...changes] };
}

function changed(
  nodeId: string,
  theirs: JsonRecord,
  ours: JsonRecord,
): (mapped: readonly [name: string, from: string]) => readonly EventDraft[] {
  return ([name, from]) => {
    if (!Object.hasOwn(theirs, from)) return [];
    const previous = Object.hasOwn(ours, name) ? { previous: ours[name] } : {};
    const payload = { name, ...previous, next: theirs[from], nodeId };
    return [{ type: "variable.changed", nodeId, payload }];
  };
}

/** A mapping of names, as the config schema ensures. */
function mappingOf(value: unknown): Readonly<Record<string, string>> {
  return isRecord(value) ? (value as Readonly<Record<string, string>>) : {};
}
