/**
 * Creates the fork that a request asks for: a replay of the source's log, or a branch off it.   OpenWOP
 * "rest-endpoints" POST /v1/runs/{runId}:fork, "replay"
 */
import { hash } from "node:crypto";
import {
  describeValue,
  given,
  isRecord,
  type JsonRecord,
  quoteValue,
} from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { compileOwn, type SchemaViolation } from "../../../schema/schema.ts";
import type { Change } from "../../../state/store.ts";
import type { RunError, RunOwner } from "../agent-executor.ts";
import type { NodeType, NodeTypes } from "../nodes/node-type.ts";
import { invalid, OVERLAY_SCHEMA, refuseOptions, under } from "./make-run.ts";
import {
  type EventDraft,
  type ForkMode,
  type ForkSource,
  type Run,
  type RunEvent,
  type RunRefusal,
  refuseRun,
} from "./run.ts";
import { putPendingResult } from "./run-entry.ts";
import { type RunLog, readTogether } from "./run-log.ts";
import type { RunState } from "./run-state.ts";
import type { RunParts, WorkflowRuns } from "./workflow-runs.ts";

const MODES: readonly ForkMode[] = ["replay", "branch"];

/** Creates the fork that a body asks for, or refuses it. */
export function makeFork(
  parts: RunParts,
  source: RunLog,
  body: JsonRecord,
  owner: RunOwner,
): Run | RunRefusal {
  const asked = readFork(parts, body);
  if ("code" in asked) return asked;
  const { mode, fromSeq, overlay } = asked;
  const { nextSequence: length } = source.state;
  if (fromSeq >= length && !(fromSeq === 0 && length === 0)) {
    const message = `fromSeq ${fromSeq} is past the log, which has ${length} events`;
    return refuseRun("fork_invalid_seq", message, { fromSeq, length });
  }
  const { run } = source;
  const options = withOverlay(run, overlay);
  const hasOptions = overlay["configurable"] !== undefined;
  const violations = hasOptions ? checkOptions(parts, run, options.configurable) : undefined;
  if (violations !== undefined) return invalid(violations);
  const copied = mode === "replay" ? length - endOf(source.state) : fromSeq;
  const { parent, ...own } = run;
  const { unset } = parent ?? run.source ?? {};
  return {
    ...own,
    ...{ runId: uuidv7(), createdAt: parts.register.now() },
    owner: { ...owner, tenant: run.owner.tenant },
    source: { runId: run.runId, mode, fromSeq, copied, ...given({ unset }) },
    ...parts.redact(options),
  };
}

/** Checks options against the schema stored with the run, since its workflow may no longer be served. */
function checkOptions(
  { compiler }: RunParts,
  { workflow: { configurableSchema: schema } }: Run,
  configurable: JsonRecord,
): readonly SchemaViolation[] | undefined {
  if (!isRecord(schema)) return undefined;
  const place = { file: "run", key: "configurableSchema" };
  const violations = compiler.compile(schema, place).compiled?.check(configurable);
  return violations?.map(under("/configurable"));
}

/** The number of trailing events that cancelled the run; a replay continues before them. */
function endOf({ status, nodes }: RunState): number {
  if (status !== "cancelled") return 0;
  return Object.values(nodes).some((node) => node.status === "cancelled") ? 2 : 1;
}

interface AskedFork {
  readonly mode: ForkMode;
  readonly fromSeq: number;
  readonly overlay: JsonRecord;
}

function readFork({ redact }: RunParts, body: JsonRecord): AskedFork | RunRefusal {
  const { mode: named, fromSeq = 0, runOptionsOverlay: overlay = {}, ...others } = body;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    return refuseRun("validation_error", `${quoteValue(redact(unknown))} is no member of a fork`);
  }
  const mode = MODES.find((one) => one === named);
  if (mode === undefined) {
    const message = `mode ${describeValue(redact(named))}, expected "replay" or "branch"`;
    return refuseRun("validation_error", message, { supported: MODES });
  }
  if (mode === "branch" && body["fromSeq"] === undefined) {
    return refuseRun("validation_error", "fromSeq is missing, a branch begins somewhere");
  }
  if (typeof fromSeq !== "number" || !Number.isSafeInteger(fromSeq) || fromSeq < 0) {
    const message = `fromSeq is ${quoteValue(redact(fromSeq))}, expected a whole number from 0 on`;
    return refuseRun("validation_error", message);
  }
  if (!isRecord(overlay)) {
    return refuseRun("validation_error", "runOptionsOverlay must be an object");
  }
  if (mode === "replay" && Object.keys(overlay).length > 0) {
    return refuseRun("validation_error", "a replay changes no options: the overlay must be empty");
  }
  const refusal = refuseOptions(overlay["configurable"]);
  if (refusal !== undefined) return refusal;
  const violations = compileOwn(OVERLAY_SCHEMA).check(overlay);
  return violations === undefined ? { mode, fromSeq, overlay } : invalid(violations);
}

function withOverlay(
  run: Run,
  { configurable, tags, metadata }: JsonRecord,
): Pick<Run, "configurable" | "tags" | "metadata"> {
  return {
    configurable: isRecord(configurable)
      ? { ...run.configurable, ...configurable }
      : run.configurable,
    tags: Array.isArray(tags) ? tags : run.tags,
    metadata: isRecord(metadata) ? { ...run.metadata, ...metadata } : run.metadata,
  };
}

/** The error that stops a replay, and its node. */
interface ReplayFault {
  readonly nodeId: string;
  readonly error: RunError;
}

/**
 * Copies the remaining events of a fork's prefix from its source, with the same sequences and payloads, so that forks
 * at one point are identical. Recorded effects are never repeated; a replay fails closed if an effect was started
 * without a recorded outcome.   OpenWOP "replay"
 */
export async function copyHistory(
  log: RunLog,
  source: ForkSource,
  { register }: Pick<RunParts, "register">,
): Promise<ReplayFault | undefined> {
  while (log.state.nextSequence < source.copied) {
    const after = log.state.nextSequence - 1;
    const most = source.copied - log.state.nextSequence;
    const page = await readTogether(register, source.runId, { after, most });
    // Sequential, since an event may depend on the state after the one before.
    for (const event of page) {
      // Deletion of a source starts with its first events.
      if (event.sequence !== log.state.nextSequence) return sourceGone(log);
      await log.append([copyOf(event, log.run)], await heldBy(event, log.run, register), {
        isHolders: true,
      });
    }
    if (page.length === 0) return sourceGone(log);
  }
  return undefined;
}

/** The error of a replayed effect without a recorded outcome. */
export function missingSource(): RunError {
  const message = "the source has no recorded outcome of this node, and it is not done again";
  return { code: "replay_source_missing", message };
}

/** Tells whether a node must not be executed twice. */
export function isEffectful(run: Run, nodeId: string, types: NodeTypes): boolean {
  return typeOf(run, nodeId, types)?.isEffectful ?? true;
}

/** Tells whether any process can find the work that a node started. */
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
  const cause = causationId && copiedId(runId, causationId);
  return {
    ...{ type, payload, eventId: copiedId(runId, eventId) },
    ...given({ nodeId, causationId: cause }),
  };
}

/** Derives the copy's event id, so that no mapping table is needed. */
function copiedId(runId: string, eventId: string): string {
  return hash("sha256", `${runId} ${eventId}`).slice(0, 32);
}
