/**
 * The beginning of a fork: events of its source, at the same sequences and with the same payloads,
 * so that two forks of one point never differ. What was recorded is never done again; where an effect
 * was begun and nothing of its outcome is recorded, a replay fails closed.   OpenWOP "replay"
 */
import { sha256Hex } from "../../../identity/canonical-form.ts";
import type { Change } from "../../../state/store.ts";
import type { RunError } from "../agent-executor.ts";
import type { NodeType, NodeTypes } from "../nodes/node-type.ts";
import type { EventDraft, ForkSource, Run, RunEvent } from "./run.ts";
import { putPendingResult } from "./run-entry.ts";
import type { RunLog } from "./run-log.ts";
import type { RunParts } from "./run-parts.ts";
import type { WorkflowRuns } from "./workflow-runs.ts";

/** Why a replay cannot go on, and at which node. */
interface ReplayFault {
  readonly nodeId: string;
  readonly error: RunError;
}

const COPIED_AT_ONCE = 200;

/** Copies what is not copied yet. */
export async function copyHistory(
  log: RunLog,
  source: ForkSource,
  { register }: Pick<RunParts, "register">,
): Promise<ReplayFault | undefined> {
  while (log.state.nextSequence < source.copied) {
    const after = log.state.nextSequence - 1;
    const limit = Math.min(COPIED_AT_ONCE, source.copied - log.state.nextSequence);
    const page = await register.events(source.runId, after, limit);
    // One after the other: what comes may depend on where the run stands.
    for (const event of page) {
      await log.append([copyOf(event, log.run)], await heldBy(event, log.run, register), {
        isHolders: true,
      });
    }
    if (page.length === 0) return sourceGone(log);
  }
  return undefined;
}

/** The event of a replay for an effect whose outcome is not recorded. */
export function missingSource(): RunError {
  const message = "the source has no recorded outcome of this node, and it is not done again";
  return { code: "replay_source_missing", message };
}

/** Tells whether a node of the run must not be done twice. */
export function isEffectful(run: Run, nodeId: string, types: NodeTypes): boolean {
  return typeOf(run, nodeId, types)?.isEffectful ?? true;
}

/** Tells whether what a node of the run began is there in any process. */
export function isFoundAgain(run: Run, nodeId: string, types: NodeTypes): boolean {
  return typeOf(run, nodeId, types)?.isFoundAgain ?? false;
}

function typeOf({ workflow }: Run, nodeId: string, types: NodeTypes): NodeType | undefined {
  return types.get(workflow.nodes.find(({ id }) => id === nodeId)?.typeId ?? "");
}

function sourceGone({ run, state }: RunLog): ReplayFault {
  const nodeId = state.currentNodeId ?? run.workflow.nodes[0]?.id ?? "";
  const message = "the run that this one was forked from is no longer kept";
  return { nodeId, error: { code: "replay_source_missing", message } };
}

async function heldBy(
  { type, runId, nodeId, payload }: RunEvent,
  fork: Run,
  register: WorkflowRuns,
): Promise<readonly Change[]> {
  const isHeld = type === "node.suspended" && payload["kind"] === "low-confidence";
  if (!isHeld || nodeId === undefined) return [];
  const interruptId = String(payload["interruptId"]);
  const result = await register.pendingResult(runId, { interruptId, nodeId });
  return [putPendingResult(fork.runId, interruptId, result)];
}

function copyOf(
  { eventId, type, payload, nodeId, causationId }: RunEvent,
  { runId }: Run,
): EventDraft {
  return {
    ...{ type, payload, eventId: copiedId(runId, eventId) },
    ...(nodeId === undefined ? {} : { nodeId }),
    ...(causationId === undefined ? {} : { causationId: copiedId(runId, causationId) }),
  };
}

/** Tells without a table which event stands for which. */
function copiedId(runId: string, eventId: string): string {
  return sha256Hex(`${runId} ${eventId}`).slice(0, 32);
}
