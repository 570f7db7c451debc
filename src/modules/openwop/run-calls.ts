/**
 * Answers AGTP callers about runs: each handler reads its call, asks the runs, and says what
 * came of it in the words of the protocol.   OpenWOP RFC 0072 §B
 */
import type { JsonRecord } from "../../base/json-value.ts";
import {
  agentNotInstalled,
  runNotFound,
  tooManyRuns,
} from "../../dispatch/refusals/openwop-refusals.ts";
import { namedError, type Refusal } from "../../dispatch/refusals/refusal.ts";
import { confirmationForbidden } from "../../dispatch/refusals/task-refusals.ts";
import type { Call, HandlerResult } from "../../handlers/handler.ts";
import { isOver } from "./runs/run.ts";
import type { RunCaller } from "./runs/run-entry.ts";
import type { RunHost } from "./runs/run-host.ts";
import type { RunLog } from "./runs/run-log.ts";
import { isRefused, type RunRefusal } from "./runs/run-refusal.ts";
import { acceptedRun, runResult, runSnapshot } from "./runs/run-snapshot.ts";
import { type InterruptKind, plainAnswer } from "./runs/run-state.ts";
import { interruptOf } from "./runs/verdict.ts";

/** The parts that calls about runs are answered with. */
export interface RunCallOptions {
  readonly host: RunHost;
  /** A handler has to be done by then. */
  readonly maxWaitMs: number;
  /** The Agent-ID of an OpenWOP agent; undefined: it has none here. */
  agtpIdOf(agentId: string, tenant: string): string | undefined;
}

type Answer = Promise<HandlerResult | Refusal>;

/** EXECUTE /runs */
export async function startRun(
  { host, maxWaitMs }: RunCallOptions,
  call: Call,
  { owner }: RunCaller,
): Answer {
  const { wait_seconds: wait = 0, idempotency_key: _, ...body } = call.input;
  const log = await host.create(body, owner);
  if (isRefused(log)) return refuse(log);
  const waitMs = Math.min(Number(wait) * 1000, maxWaitMs);
  await log.atRest(host.whileServing(call.signal, waitMs));
  if (!isOver(log.state.status)) return { status: 202, body: acceptedRun(log) };
  const result = runResult(log.state);
  const snapshot = runSnapshot(log.run, log.state);
  return { body: { ...snapshot, ...(result === undefined ? {} : { result }) } };
}

/** QUERY /runs/{run_id} */
export async function readRun(
  { host }: RunCallOptions,
  { input }: Call,
  caller: RunCaller,
): Answer {
  const log = await host.find(String(input["run_id"]), caller);
  return isRefused(log) ? refuse(log) : { body: runSnapshot(log.run, log.state) };
}

/** QUERY /runs/{run_id}/events; the Continuation-Token is the last sequence */
export async function readRunEvents(
  { host, maxWaitMs }: RunCallOptions,
  { input, headers, signal }: Call,
  caller: RunCaller,
): Answer {
  const { run_id: runId, lastSequence, timeout = 0 } = input;
  const after = lastSequence ?? readToken(headers["continuation-token"]);
  if (typeof after !== "number") {
    return namedError("validation_error", "the Continuation-Token is none of this run", undefined);
  }
  const log = await host.find(String(runId), caller);
  if (isRefused(log)) return refuse(log);
  const waitMs = Math.min(Number(timeout) * 1000, maxWaitMs);
  await log.changed(after, host.whileServing(signal, waitMs));
  const page = await log.page(after);
  const last = page.events.at(-1)?.sequence ?? after;
  return { body: page, ...(last < 0 ? {} : { headers: { "Continuation-Token": String(last) } }) };
}

/** -1 where there is none; undefined for one that was not given out here. */
function readToken(token: string | undefined): number | undefined {
  if (token === undefined) return -1;
  return /^\d{1,8}$/.test(token) ? Number(token) : undefined;
}

/** CANCEL /runs/{run_id} */
export async function cancelRun(
  { host }: RunCallOptions,
  { input }: Call,
  caller: RunCaller,
): Answer {
  const { run_id: runId, reason } = input;
  const why = typeof reason === "string" ? reason : undefined;
  const log = await host.cancel(String(runId), why, caller);
  return isRefused(log) ? refuse(log) : { body: standing(log) };
}

/** FORK /runs/{run_id} */
export async function forkRun(
  { host }: RunCallOptions,
  { input }: Call,
  caller: RunCaller,
): Answer {
  const { run_id: sourceRunId, idempotency_key: _, ...body } = input;
  const log = await host.fork(String(sourceRunId), body, caller);
  if (isRefused(log)) return refuse(log);
  const { mode, fromSeq = 0 } = body;
  return { status: 202, body: { ...acceptedRun(log), sourceRunId, mode, fromSeq } };
}

/** CONFIRM /runs/{run_id}/interrupts/{node_id} */
export async function confirmInterrupt(
  options: RunCallOptions,
  call: Call,
  caller: RunCaller,
): Answer {
  const { host } = options;
  const { run_id: runId, node_id: nodeId, status, reason, resume_value: given } = call.input;
  if (await isOwnDoubt(options, call, caller)) {
    return confirmationForbidden("the agent that asks may not give itself the word");
  }
  if (status === "deferred") return defer(host, String(runId), String(nodeId), caller);
  const why = reason === undefined ? undefined : String(reason);
  const kind = await kindOf(host, String(runId), String(nodeId), caller);
  const said = plainAnswer(kind, status !== "rejected", why);
  const resumeValue = status === "accepted" ? (given ?? said) : said;
  const answer = { resumeValue, by: caller.owner.principal };
  const answered = await host.answer(String(runId), String(nodeId), answer, caller);
  if (isRefused(answered)) return refuse(answered);
  const { log, interruptId, eventId } = answered;
  const receipt = { attestation_id: eventId, timestamp: new Date().toISOString(), interruptId };
  return { body: { ...receipt, nodeId, confirmed: status, ...standing(log) } };
}

/** Low confidence where nothing is waited for: that is refused for another reason. */
async function kindOf(
  host: RunHost,
  runId: string,
  nodeId: string,
  caller: RunCaller,
): Promise<InterruptKind> {
  const log = await host.find(runId, caller);
  const interrupt = isRefused(log) ? undefined : interruptOf(log.state, nodeId);
  return interrupt?.kind ?? "low-confidence";
}

/**
 * Tells whether the caller is the agent whose decision waits for an answer, or began the run which
 * waits for an approval: nobody approves of itself.
 */
async function isOwnDoubt(
  { host, agtpIdOf }: RunCallOptions,
  { input, agentId }: Call,
  caller: RunCaller,
): Promise<boolean> {
  const log = await host.find(String(input["run_id"]), caller);
  const interrupt = isRefused(log) ? undefined : interruptOf(log.state, String(input["node_id"]));
  if (isRefused(log) || interrupt === undefined || agentId === undefined) return false;
  if (interrupt.kind === "approval") return log.run.owner.agentId === agentId;
  return agtpIdOf(String(interrupt.data["agentId"]), log.run.owner.tenant) === agentId;
}

/** Somebody has seen it, and nothing changes. */
async function defer(host: RunHost, runId: string, nodeId: string, caller: RunCaller): Answer {
  const log = await host.find(runId, caller);
  if (isRefused(log)) return refuse(log);
  const interrupt = interruptOf(log.state, nodeId);
  if (interrupt === undefined || interrupt.isResolved) {
    return namedError("interrupt_not_found", "the node of this run waits for nothing", undefined);
  }
  const { interruptId } = interrupt;
  return { body: { interruptId, nodeId, confirmed: "deferred", ...standing(log) } };
}

function standing({ run, state }: RunLog): JsonRecord {
  return { runId: run.runId, status: state.status };
}

function refuse({ code, message, details }: RunRefusal): Refusal {
  switch (code) {
    case "run_not_found":
      return runNotFound();
    case "agent_not_found":
      return agentNotInstalled();
    case "rate_limited":
      return tooManyRuns(message);
    case "forbidden":
      return confirmationForbidden(message);
    default:
      return namedError(code, message, details);
  }
}
