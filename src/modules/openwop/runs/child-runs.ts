/**
 * Child runs started by nodes: same owner and scope, within the configured depth and number. A child's id is derived
 * from the node execution, so that any process resuming the parent finds it.   OpenWOP "node-packs" core.subWorkflow
 */
import { hash } from "node:crypto";
import { given, type JsonRecord } from "../../../base/json-value.ts";
import type { RunError } from "../agent-executor.ts";
import type { ChildRequest } from "../nodes/node-type.ts";
import { makeRun, RESERVED_OPTIONS } from "./make-run.ts";
import { endOrphan } from "./pause-run.ts";
import { isOver, isRefused, type Run } from "./run.ts";
import type { RunLog } from "./run-log.ts";
import type { StandingRun } from "./run-state.ts";
import type { RunParts } from "./workflow-runs.ts";

interface NodeExecution {
  readonly run: Run;
  readonly nodeId: string;
  readonly startedSequence: number;
}

/** Returns the execution's child run, creating it unless it `isBegun`, or the error that prevents it. */
export async function beginChild(
  parts: RunParts,
  place: NodeExecution,
  request: ChildRequest,
  isBegun: boolean,
): Promise<StandingRun | RunError> {
  const runId = childIdOf(place);
  const known = await parts.register.log(runId, parts);
  if (known !== undefined) return known;
  if (isBegun) {
    const message = "the run of the sub-workflow is no longer kept";
    return { code: "subworkflow_child_failed", message, details: { childRunId: runId } };
  }
  return beyond(parts, place) ?? create(parts, place, request, runId);
}

/** Returns the error of exceeding the depth or the number of runs in the tree. */
function beyond({ register, limits }: RunParts, { run }: NodeExecution): RunError | undefined {
  const isDeep = depthOf(run) >= limits.depth;
  if (!isDeep && register.countOfTree(rootOf(run)) < limits.children) return undefined;
  const limit = isDeep ? limits.depth : limits.children;
  const message = isDeep
    ? `sub-workflows may be nested ${limit} deep`
    : `one run may begin ${limit} others, at any depth`;
  return { code: "recursion_limit_exceeded", message, details: { limit } };
}

async function create(
  parts: RunParts,
  { run: parent, nodeId }: NodeExecution,
  { workflowId, inputs, unset }: ChildRequest,
  runId: string,
): Promise<RunLog | RunError> {
  const { register } = parts;
  const { scopeId, owner } = parent;
  const configurable = handedDown(parent.configurable);
  const body = { workflowId, inputs, configurable, ...given({ scopeId }) };
  const made = makeRun(parts, body, owner);
  if (isRefused(made)) {
    const { code, message, details } = made;
    const told = `the sub-workflow was not begun: ${message}`;
    return { code, message: told, ...given({ details }) };
  }
  const link = { runId: parent.runId, nodeId, rootRunId: rootOf(parent) };
  const run = { ...made, runId, parent: { ...link, depth: depthOf(parent) + 1, unset } };
  const log = await register.keep(run, parts);
  if (isRefused(log)) {
    return { code: "rate_limited", message: "too many runs of this owner are not over yet" };
  }
  // A concurrent end of the parent may have missed the new child.
  if (isOver(register.find(parent.runId)?.status ?? "cancelled")) await endOrphan(parts, log);
  else register.enqueueLog(log);
  return log;
}

/** The options that a child inherits: those of the protocol, not those of the parent's workflow. */
function handedDown(configurable: JsonRecord): JsonRecord {
  return Object.fromEntries(
    Object.entries(configurable).filter(([name]) => RESERVED_OPTIONS.has(name)),
  );
}

function depthOf({ parent }: Run): number {
  return parent?.depth ?? 0;
}

function rootOf({ runId, parent }: Run): string {
  return parent?.rootRunId ?? runId;
}

/** Derives a UUID of version 8 (custom content) from the execution. */
function childIdOf({ run, nodeId, startedSequence }: NodeExecution): string {
  const hex = hash("sha256", `openwop child ${run.runId} ${nodeId} ${startedSequence}`);
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}
