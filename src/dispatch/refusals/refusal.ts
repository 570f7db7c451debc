/**
 * Refusals: every negative answer of the protocol, as values. Each status has one constructor,
 * which cites its clause. The body is `{ error: { code, message, details? } }`; members that a
 * draft requires stand both at top level and inside `error`.
 */

import { given, jsonMembers, jsonText } from "../../base/json-value.ts";
import { flatText } from "../../base/kept-text.ts";
import type { PathFault } from "../../catalog/path-grammar.ts";
import type { SchemaViolation } from "../../schema/schema.ts";
import { reportViolations } from "../../schema/violation-wording.ts";
import type { Status } from "../../wire/message.ts";
import type { RefusalCode, RejectionReason, UnauthenticatedCode } from "./refusal-code.ts";

export interface Refusal {
  readonly kind: "refusal";
  readonly status: Status;
  /** A closed code, or the name of an error that the endpoint declares. */
  readonly code: RefusalCode | (string & {});
  readonly message: string;
  /** Members that stand at top level and inside `error`. */
  readonly carried?: Readonly<Record<string, unknown>>;
  readonly details?: unknown;
  /** The carried members as JSON without braces, and the whole body, if they are already encoded. */
  readonly carriedText?: string;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Builds a refusal; the constructors below supply the messages. */
export function refusal(
  status: Status,
  code: Refusal["code"],
  message: string,
  more: Pick<Refusal, "carried" | "carriedText" | "details" | "headers" | "text"> = {},
): Refusal {
  const refused: Refusal = { kind: "refusal", status, code, message };
  // Assigned, since spreading into a literal with members costs several times as much.
  return Object.assign(refused, more);
}

/** Builds a refusal whose code is also its `reason`, the first carried member. */
export function refuseFor(
  status: Status,
  reason: RefusalCode,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): Refusal {
  return refusal(status, reason, message, { carried: { reason, ...more } });
}

/** Returns the JSON body of a refusal. */
export function refusalBody(from: Refusal): Record<string, unknown> {
  const error: Record<string, unknown> = { code: from.code, message: from.message };
  if (from.details !== undefined) error["details"] = from.details;
  const { carried } = from;
  if (carried === undefined) return { error };
  return { ...carried, error: Object.assign(error, carried) };
}

/**
 * Returns the body as text; its carried members are encoded once, though they occur twice. Throws
 * for a value without JSON form.
 */
export function refusalText(from: Refusal): string {
  if (from.text !== undefined) return from.text;
  const { code, message, details, carried } = from;
  const detailed: string | undefined = JSON.stringify(details);
  let error = `{"code":${jsonText(code)},"message":${jsonText(message)}`;
  if (detailed !== undefined) error += `,"details":${detailed}`;
  const members = from.carriedText ?? (carried === undefined ? "" : jsonMembers(carried));
  return members === "" ? `{"error":${error}}}` : `{${members},"error":${error},${members}}}`;
}

/** Adds carried members to a refusal, and drops its encoded texts. */
export function carryMore(from: Refusal, members: Readonly<Record<string, unknown>>): Refusal {
  const { carriedText: _carriedText, text: _text, carried, ...rest } = from;
  return { ...rest, carried: { ...carried, ...members } };
}

/** Encodes a refusal once that is the same for every request. */
export function sameForAll(refused: Refusal): Refusal {
  return { ...refused, text: flatText(refusalText(refused)) };
}

/** 400: the request is malformed.   AGTP "Malformed Requests" */
export function badRequest(
  code: RefusalCode,
  message: string,
  carried?: Readonly<Record<string, unknown>>,
): Refusal {
  return refusal(400, code, message, carried === undefined ? {} : { carried });
}

/** The draft's own reasons; others are named by the code alone. */
const REASONS: ReadonlySet<UnauthenticatedCode> = new Set([
  "oauth-required",
  "oauth-invalid",
  "acl-anonymous-blocked",
  "genesis-issuer-cert-required",
]);

/** 401: the caller is unknown, or not proven to be the agent it names.   AGTP "Status Codes" */
export function agentUnauthenticated(
  message: string,
  code: UnauthenticatedCode = "agent-unauthenticated",
  carried: Readonly<Record<string, unknown>> = {},
): Refusal {
  const reason = REASONS.has(code) ? code : "agent-unauthenticated";
  return refusal(401, code, message, { carried: { reason, ...carried } });
}

/** 401: the caller's certificate was revoked. */
export function certificateRevoked(): Refusal {
  return agentUnauthenticated("the client certificate was revoked", "certificate-revoked");
}

/** 403: the caller is known, but may not do this.   AGTP "Status Codes" */
export function forbidden(
  code:
    | "lifecycle-forbidden"
    | "inspect-forbidden"
    | "contract-forbidden"
    | "operator-scope-required",
  message: string,
  carried: Readonly<Record<string, unknown>> = {},
): Refusal {
  return refuseFor(403, code, message, carried);
}

/** 503: the agent is suspended, but may be reinstated.   AGTP "URI Resolution" */
export function agentSuspended(agentId: string): Refusal {
  const carried = { agent_id: agentId, state: "suspended" };
  return refuseFor(503, "agent-suspended", "the agent is suspended", carried);
}

/** 410: the agent is retired permanently.   AGTP "URI Resolution" */
export function agentRetired(agentId: string, since: string | undefined): Refusal {
  const carried = given({ agent_id: agentId, state: "retired", revoked_at: since });
  return refuseFor(410, "agent-retired", "the agent is retired", carried);
}

/** 409: the agent's present state does not permit the change. */
export function lifecycleConflict(message: string): Refusal {
  return refusal(409, "lifecycle-conflict", message);
}

/** 409: the request with this Idempotency-Key is not executed, or not again.   AGTP-API §10.1.5 */
export function idempotencyConflict(
  code:
    | "idempotency-key-reuse"
    | "idempotency-key-in-use"
    | "idempotency-outcome-unknown"
    | "idempotency-response-not-kept",
  message: string,
  details?: unknown,
): Refusal {
  return refusal(409, code, message, { details });
}

/** 422: the change is no longer possible.   AGTP "Lifecycle Methods" */
export function lifecycleInvalid(message: string): Refusal {
  return refusal(422, "lifecycle-invalid", message);
}

/** 457: the request would leave the caller's governance zone.   AGTP "Zones" */
export function zoneViolation(message: string): Refusal {
  return refusal(457, "zone-violation", message);
}

type AuthorizationCondition =
  | "credentials-missing"
  | "anonymous-discovery-disabled"
  | "scope-claim-invalid"
  | "scope-required";

/** 262: the caller must establish authority first; `type` names the condition.   AGTP-API §11 */
export function authorizationRequired(
  type: AuthorizationCondition,
  message: string,
  more: { readonly scope?: string; readonly details?: unknown } = {},
): Refusal {
  const carried = {
    type,
    explanation: message,
    ...(more.scope === undefined ? {} : { scope: more.scope }),
  };
  return refusal(262, type, message, { carried, details: more.details });
}

/** 404: nothing exists at this path, or no such record.   AGTP-API §5.4, §11 */
export function notFound(
  code:
    | "endpoint-not-found"
    | "genesis-not-found"
    | "contract-not-found"
    | "record-not-found"
    | "agent-not-found"
    | "recipient-not-found"
    | "proposal-not-found",
  message: string,
): Refusal {
  return refusal(404, code, message);
}

/** 404: the same for an absent agent and for one that the caller may not see. */
export function agentNotFound(): Refusal {
  return notFound("agent-not-found", "this server hosts no such agent");
}

/** 422: the merged input does not satisfy the input schema.   AGTP-API §13.2 */
export function schemaViolation(violations: readonly SchemaViolation[]): Refusal {
  const listed = violations.length > 20 ? violations.slice(0, 20) : violations;
  const { message, text } = reportViolations(listed);
  // Built directly, since `refusal` takes twice as long.
  return {
    kind: "refusal",
    status: 422,
    code: "schema-validation-failed",
    message,
    details: { errors: listed },
    text: `{"error":{"code":"schema-validation-failed",${text}}}`,
  };
}

/** 422: one parameter is invalid. */
export function violationAt(path: string, keyword: string, message: string): Refusal {
  return schemaViolation([{ path, keyword, message }]);
}

/** 422: an error that the endpoint declares; its name is the code.   AGTP-API §6.4 "errors" */
export function namedError(name: string, message: string | undefined, details: unknown): Refusal {
  return refusal(422, name, message ?? name.replaceAll("_", " "), { details });
}

/** 455: a required scope is missing from the request's authority.   AGTP-API §6.4, §13.2 */
export function scopeViolation(missing: readonly string[]): Refusal {
  return refusal(455, "scope-violation", `missing scope ${missing.join(", ")}`, {
    carried: { missing_scopes: missing },
  });
}

/**
 * Refuses a stored answer if the caller lacks a scope of its inner dispatches; gate 17 checks the
 * endpoint's own.
 */
export function refuseUncovered(
  scopes: readonly string[],
  held: { covers(scope: string): boolean },
): Refusal | undefined {
  const missing = scopes.filter((scope) => !held.covers(scope));
  return missing.length === 0 ? undefined : scopeViolation(missing);
}

/** 460: the path breaks the grammar.   AGTP-API §5.1 */
export function endpointViolation({ segment, message, messageText }: PathFault): Refusal {
  const code = "path-grammar-violation";
  const carriedText = `"segment":${jsonText(segment)}`;
  const error = `{"code":"${code}","message":${messageText ?? jsonText(message)},${carriedText}}`;
  // Built directly, since `refusal` takes twice as long.
  return {
    kind: "refusal",
    status: 460,
    code,
    message,
    carried: { segment },
    text: `{${carriedText},"error":${error}}`,
  };
}

/** 463: the proposal is rejected, with the draft's reason.   AGTP-API §8.7, §10.6 */
export function proposalRejected(
  reason: RejectionReason,
  explanation: string,
  more: Readonly<Record<string, unknown>> = {},
): Refusal {
  return refuseFor(463, reason, explanation, { explanation, ...more });
}

/** The rate scopes, in words. */
const RATED = { rcns: "negotiations", requests: "requests", work: "work" } as const;

/** 429: a rate is exceeded; `scope` names it.   AGTP-API §10.1.5, `[limits]` */
export function rateLimited(scope: keyof typeof RATED, retryAfterSeconds: number): Refusal {
  const seconds = retryAfterSeconds === 1 ? "1 second" : `${retryAfterSeconds} seconds`;
  const many = scope === "work" ? "much" : "many";
  const message = `too ${many} ${RATED[scope]}, try again in ${seconds}`;
  const carried = { scope, retry_after_seconds: retryAfterSeconds };
  // For negotiations the wait is in the body alone.   AGTP-API §10.1.5
  const headers = scope === "rcns" ? {} : { "Retry-After": String(retryAfterSeconds) };
  return refusal(429, "rate-limited", message, { carried, headers });
}

/** 500: a fault; the caller learns only its id. */
export function serverError(errorId: string): Refusal {
  return refusal(500, "internal-error", "the server failed to answer", {
    carried: { error_id: errorId },
  });
}

/** 500: the handler did not answer in time and was aborted. */
export function handlerTimeout(errorId: string): Refusal {
  return refusal(500, "handler-timeout", "the handler did not answer in time", {
    carried: { error_id: errorId },
  });
}

/** 501: a protocol feature that this server lacks; the body names it.   AGTP "Status Codes" */
export function notImplemented(feature: string, message: string): Refusal {
  return refusal(501, "not-implemented", message, { carried: { feature } });
}
