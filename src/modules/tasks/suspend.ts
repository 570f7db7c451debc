/**
 * SUSPEND: of a contract releases it; of a session halts it, keeps a checkpoint, and answers the nonce that
 * alone resumes it, once; RESUME: whoever suspended a session goes on with it, by that nonce.
 * 262 nobody that this server knows · 404 not the caller's session · 408 and 409 it is over or suspended
 * already, or the nonce was used · 422 malformed · 429 too many are suspended · 501 the server's catalog
 * or policy has no RESUME.   AGTP "SUSPEND", AGTP-API §10.1.4
 */
import { readMoment } from "../../base/duration.ts";
import { sessionHolderOf } from "../../dispatch/caller/own-matter.ts";
import { contractOf, type RecordEvents, textOf } from "../../dispatch/contracts/contract-events.ts";
import { endContract } from "../../dispatch/contracts/end-contracts.ts";
import {
  authorizationRequired,
  forbidden,
  notFound,
  notImplemented,
  type Refusal,
  schemaViolation,
} from "../../dispatch/refusals/refusal.ts";
import {
  nonceReused,
  refuseHeldSession,
  tooManyWaiting,
} from "../../dispatch/refusals/task-refusals.ts";
import { type DescribeMethod, type FloorMethod, floorResult } from "../../dispatch/routes/floor.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { checkOctets, type SchemaViolation } from "../../schema/schema-violation.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { SessionRegister } from "../../state/registers/session-register.ts";
import { SUSPENSION_REASONS, type Suspension } from "../../state/registers/suspension.ts";
import type { SuspensionRegister } from "../../state/registers/suspension-register.ts";
import { checkFuture, checkGiven } from "./escalate.ts";
import { isOwnSession } from "./own-session.ts";

interface SuspendOptions {
  readonly sessions: Pick<SessionRegister, "admit">;
  readonly suspensions: Pick<SuspensionRegister, "suspend" | "holdOf" | "now">;
  readonly releaseContract: RouteHandler;
  /** True if policy admits RESUME; otherwise sessions are not suspended, since none could go on. */
  readonly canResume: boolean;
}

const TEXT = { type: "string", minLength: 1, maxLength: 1024 };

/** Parameters of both targets; releasing a contract needs no reason. */
const SUSPEND_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    ...{ synthesis_id: TEXT, reason: TEXT, actor: TEXT },
    session_id: { type: "string", pattern: "^[\\x21-\\x7e]{1,256}$" },
    resume_by: { type: ["string", "number"] },
    checkpoint: {},
  },
  examples: [{ session_id: "session-7", reason: "awaiting_input", resume_by: "PT1H" }],
};

const MAX_CHECKPOINT_BYTES = 64 * 1024;
const USUAL_MS = 3_600_000;
const LONGEST_MS = 30 * 24 * 3_600_000;

/** SUSPEND on "/". */
export function suspendMethod(options: SuspendOptions): FloorMethod {
  return {
    inputSchema: SUSPEND_SCHEMA,
    handler: (call, exchange) =>
      call.input["synthesis_id"] === undefined
        ? suspendSession(options, call, exchange)
        : options.releaseContract(call, exchange),
  };
}

async function suspendSession(
  { sessions, suspensions, canResume }: SuspendOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  if (!canResume) return notImplemented("suspend", "this server admits no RESUME of sessions");
  const now = suspensions.now();
  const violations = violationsOf(call, now);
  if (violations.length > 0) return schemaViolation(violations);
  const { caller } = exchange;
  const { agentId, document } = caller;
  // A suspension is stored, and strangers must not cause writes.
  if (agentId === undefined || document === undefined) return unknownAgent("suspended for");
  const sessionId = String(sessionOf(call));
  const tlsIdentity = sessionHolderOf(exchange);
  const hold = suspensions.holdOf(sessionId);
  if (hold !== undefined)
    return isOwnSession(hold, exchange) ? refuseHeldSession(hold) : notFoundHere();
  const user = { agentId, tlsIdentity, isHosted: true };
  if ((await sessions.admit(sessionId, user)) === false) return notFoundHere();
  const { reason, resume_by: resumeBy, checkpoint } = call.input;
  const wanted = readMoment(resumeBy, now) ?? now + USUAL_MS;
  const session = {
    ...{ sessionId, agentId, resumeBy: Math.min(wanted, now + LONGEST_MS) },
    ...(tlsIdentity === undefined ? {} : { tlsIdentity }),
    ...(typeof reason === "string" ? { reason } : {}),
  };
  const halting = await suspensions.suspend(session, checkpoint);
  switch (halting.kind) {
    case "full":
      return tooManyWaiting("suspensions");
    case "held":
      return refuseHeldSession(halting.suspension);
    case "halted":
      return receipt(call, halting.suspension, halting.nonce);
  }
}

/** The session that the parameter names, else the one of the request. */
function sessionOf({ input, sessionId }: Call): unknown {
  return input["session_id"] ?? sessionId;
}

function violationsOf(call: Call, now: number): readonly SchemaViolation[] {
  const { reason, resume_by: resumeBy, checkpoint } = call.input;
  const isReason = reason === undefined || SUSPENSION_REASONS.includes(String(reason));
  const message = `must be one of ${SUSPENSION_REASONS.join(", ")}`;
  return [
    ...checkGiven(["session_id", sessionOf(call)]),
    ...(isReason ? [] : [{ path: "/reason", keyword: "enum", message }]),
    ...checkFuture("/resume_by", resumeBy, now),
    ...checkOctets("/checkpoint", checkpoint, MAX_CHECKPOINT_BYTES),
  ];
}

/** 262: `what` needs an agent that this server knows. */
function unknownAgent(what: string): Refusal {
  const message = `sessions are ${what} agents that this server knows`;
  return authorizationRequired("credentials-missing", message);
}

/** 404 for another agent's session too, so that nobody learns of it. */
function notFoundHere(): Refusal {
  return notFound("record-not-found", "this agent has no session with this session_id");
}

function receipt(call: Call, suspension: Suspension, nonce: string): HandlerSuccess {
  const { suspensionId, sessionId, reason, suspendedAt, resumeBy } = suspension;
  const result = {
    suspension_id: suspensionId,
    session_id: sessionId,
    status: "suspended",
    ...(reason === undefined ? {} : { reason }),
    resumption_nonce: nonce,
    suspended_at: new Date(suspendedAt).toISOString(),
    resume_by: new Date(resumeBy).toISOString(),
    resume: { method: "RESUME", path: "/" },
  };
  // The nonce is not stored, not even for a retry with the same Idempotency-Key.
  return { ...floorResult(call, result), headers: { "Cache-Control": "no-store" } };
}

interface ReleaseOptions {
  readonly register: Pick<ContractRegister, "find" | "change">;
  readonly record: RecordEvents;
}

/**
 * SUSPEND `{synthesis_id}`: the owner needs the contract no longer. 400 malformed · 403 somebody
 * else's · 404 no such contract.   AGTP-API §10.1.4
 */
export async function releaseContract(
  options: ReleaseOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const contract = contractOf(options, call);
  if ("kind" in contract) return contract;
  if (contract.agentId !== exchange.caller.agentId) {
    return forbidden("contract-forbidden", "only its own agent may release a contract");
  }
  const reason = textOf(call, "reason") ?? "caller-release";
  return endContract(options, { contract, state: "released", reason }, { call, exchange });
}

interface ResumeOptions {
  readonly sessions: Pick<SessionRegister, "rebind">;
  readonly suspensions: Pick<SuspensionRegister, "resume">;
  readonly describe: DescribeMethod;
}

const ID = { type: "string", minLength: 1, maxLength: 256 };

/** RESUME on "/". */
export function resumeEndpoint(options: ResumeOptions): ProtocolEndpoint {
  return {
    ...options.describe("RESUME"),
    description: "Resumes a suspended session, once, by the nonce that SUSPEND answered with.",
    method: "RESUME",
    path: "/",
    impact: "reversible",
    isListed: false,
    looksUp: ["resumption_nonce"],
    inputSchema: {
      type: "object",
      required: ["resumption_nonce"],
      properties: { resumption_nonce: ID, session_id: ID, suspension_id: ID },
    },
    handler: (call, exchange) => resume(options, call, exchange),
  };
}

async function resume(
  { sessions, suspensions }: ResumeOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { caller } = exchange;
  const { agentId, document } = caller;
  if (agentId === undefined || document === undefined) return unknownAgent("resumed by");
  const tlsIdentity = sessionHolderOf(exchange);
  const { resumption_nonce: nonce, session_id: sessionId, suspension_id: id } = call.input;
  const outcome = await suspensions.resume({
    agentId,
    nonce: String(nonce),
    isAdmitted: (one) =>
      (sessionId === undefined || sessionId === one.sessionId) &&
      (id === undefined || id === one.suspensionId) &&
      isOwnSession(one, exchange),
  });
  switch (outcome.kind) {
    case "unknown":
      return notFound("record-not-found", "no suspended session of this agent has this nonce");
    case "reused":
      return nonceReused();
    case "expired":
    case "ended":
      return refuseHeldSession({ ...outcome.suspension, state: outcome.kind });
    case "resumed": {
      const { suspension, checkpoint } = outcome;
      // It is the agent's again, over this connection's certificate.
      await sessions.rebind(suspension.sessionId, agentId, tlsIdentity);
      return floorResult(call, resumed(suspension, checkpoint));
    }
  }
}

function resumed(suspension: Suspension, checkpoint: unknown): Record<string, unknown> {
  const { suspensionId, sessionId, reason, suspendedAt } = suspension;
  return {
    suspension_id: suspensionId,
    session_id: sessionId,
    status: "resumed",
    ...(reason === undefined ? {} : { reason }),
    checkpoint: checkpoint ?? null,
    suspended_at: new Date(suspendedAt).toISOString(),
    resumed_at: new Date().toISOString(),
  };
}
