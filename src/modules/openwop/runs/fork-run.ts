/**
 * From a run and a request's body to the fork that is asked for: a replay of its log, or a branch off
 * it.   OpenWOP "rest-endpoints" POST /v1/runs/{runId}:fork, "replay"
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

/** Makes the fork that a body asks for, or says why there is none. */
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

/** The objections to options of the workflow that is run, which may not be served any more. */
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

/** The number of events at a log's end that cancelled the run: its replay goes on before them. */
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

/** Why a replay cannot go on, and at which node. */
interface ReplayFault {
  readonly nodeId: string;
  readonly error: RunError;
}

/**
 * Copies what is not copied yet of the beginning of a fork: events of its source, at the same
 * sequences and with the same payloads, so that two forks of one point never differ. What was
 * recorded is never done again; where an effect was begun and nothing of its outcome is recorded, a
 * replay fails closed.   OpenWOP "replay"
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
    // One after the other: what comes may depend on where the run stands.
    for (const event of page) {
      // A source that is being deleted loses its first events first.
      if (event.sequence !== log.state.nextSequence) return sourceGone(log);
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
  const cause = causationId && copiedId(runId, causationId);
  return {
    ...{ type, payload, eventId: copiedId(runId, eventId) },
    ...given({ nodeId, causationId: cause }),
  };
}

/** Tells without a table which event stands for which. */
function copiedId(runId: string, eventId: string): string {
  return hash("sha256", `${runId} ${eventId}`).slice(0, 32);
}
