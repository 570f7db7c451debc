/**
 * Runs that nodes of other runs begin: for the same owner, in the same scope, no deeper and no more of
 * them than the deployment allows. Which run an execution began follows from the execution, so
 * that whoever takes the parent up finds it again.   OpenWOP "node-packs" core.subWorkflow
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

/** The run of an execution, begun now unless it `isBegun`; or why there is none. */
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

/** Of two bounds, the one that one more run would be beyond. */
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
  // A caller that ended the parent meanwhile has not seen it.
  if (isOver(register.find(parent.runId)?.status ?? "cancelled")) await endOrphan(parts, log);
  else register.enqueueLog(log);
  return log;
}

/** Options of the protocol's hold for all that the run does; those of its workflow alone do not. */
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

/** A UUID of version 8: what it is made of is nobody else's business. */
function childIdOf({ run, nodeId, startedSequence }: NodeExecution): string {
  const hex = hash("sha256", `openwop child ${run.runId} ${nodeId} ${startedSequence}`);
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}
