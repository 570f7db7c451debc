/**
 * Answers requests with an Idempotency-Key: the handler is called once, and a repeated request,
 * during or after the call, gets the same reply. 409 `idempotency-key-reuse` for another request
 * with the key, `idempotency-key-in-use` if it cannot be awaited, `idempotency-outcome-unknown` and
 * `idempotency-response-not-kept` if the reply is no longer known; the caller decides if it
 * executes the request again.   AGTP-API §10.1.5
 */
import { hash } from "node:crypto";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import { isOpaqueId } from "../../identity/identifiers.ts";
import type { Claim, IdempotencyRegister } from "../../state/registers/idempotency-register.ts";
import type {
  ExecutionOutcome,
  IdempotentExecution,
} from "../../state/registers/idempotent-execution.ts";
import type { KeptResponse } from "../../state/registers/kept-response.ts";
import type { ViewLease } from "../../state/state.ts";
import type { Status } from "../../wire/message.ts";
import { behalfOf } from "../caller/delegation.ts";
import { type Exchange, presentedContract } from "../exchange.ts";
import { type CallHandler, faultReply, type InvokeServices } from "../handling/invoke.ts";
import {
  badRequest,
  idempotencyConflict,
  type Refusal,
  refuseUncovered,
} from "../refusals/refusal.ts";
import { type Reply, replyToRefusal } from "../reply.ts";
import type { Route } from "../routes/route.ts";
import {
  encodeReply,
  isLasting,
  isOpenOutcome,
  keepReply,
  mayBeKept,
  replayReply,
} from "./idempotent-reply.ts";

/**
 * Reads the Idempotency-Key of a state-changing request by an agent of this server; undefined if
 * the request is executed each time. The key is a header field, or an input member if the endpoint
 * declares one. 400 `invalid-identifier` for a malformed key, or two that differ.   AGTP "Request
 * Headers", AGTP-API §10.1.5
 */
export function readIdempotencyKey(exchange: Exchange, route: Route): string | Refusal | undefined {
  if (route.isReading || exchange.caller.document === undefined) return undefined;
  // The key belongs to the request on the wire, not to its inner dispatches.
  if (exchange.inner !== undefined) return undefined;
  const key = exchange.header("idempotency-key");
  const oldKey = exchange.header("rcns-idempotency-key");
  const member = route.idempotencyMember;
  const written = member === undefined ? undefined : exchange.input[member];
  const either = key ?? oldKey ?? written;
  if (either === undefined) return undefined;
  if (oldKey !== undefined && oldKey !== either) {
    return malformed("Idempotency-Key and RCNS-Idempotency-Key must be the same, if both are sent");
  }
  if (written !== undefined && written !== either) {
    return malformed(`Idempotency-Key and ${member} must be the same, if both are sent`);
  }
  if (typeof either === "string" && isOpaqueId(either)) return either;
  return malformed("Idempotency-Key must be 1 to 256 visible ASCII characters");
}

function malformed(message: string): Refusal {
  return badRequest("invalid-identifier", message, { header: "Idempotency-Key" });
}

/** The dependencies of answering once per key. */
interface IdempotencyParts {
  readonly register: Pick<IdempotencyRegister, "claim">;
  readonly view: Pick<ViewLease, "catchUp">;
  readonly directory: Pick<AgentDirectory, "find">;
  readonly services: InvokeServices;
  readonly callHandler: CallHandler;
}

/** Answers a request once for its key. Never rejects. */
export type AnswerOnce = (exchange: Exchange, route: Route, key: string) => Promise<Reply>;

/** Creates the function that answers requests with a key, in place of `CallHandler`. */
export function createAnswerOnce(parts: IdempotencyParts): AnswerOnce {
  return async (exchange, route, key) => {
    try {
      return await answerOnce(parts, exchange, route, key);
    } catch (error) {
      return faultReply(exchange, parts.services, "an Idempotency-Key cannot be kept", error);
    }
  };
}

async function answerOnce(
  parts: IdempotencyParts,
  exchange: Exchange,
  route: Route,
  key: string,
  isLatest = false,
): Promise<Reply> {
  const claim = claimFor(parts, exchange, key);
  switch (claim.kind) {
    case "claimed":
      if (await claim.execution.begin()) return execute(parts, exchange, route, claim.execution);
      // Another process claimed the key first, and may still be executing.
      return answerOnce(parts, exchange, route, key, true);
    case "running": {
      const outcome = await claim.execution.wait(exchange.signal);
      if (outcome?.kind === "elsewhere") return answerOnce(parts, exchange, route, key, true);
      return replyTo(parts, exchange, outcome);
    }
    case "answered": {
      const response = await claim.response;
      return replay(parts, exchange, response) ?? replyToRefusal(notKept(claim.status));
    }
    case "unknown":
      if (isLatest || parts.view.catchUp === undefined) return replyToRefusal(outcomeUnknown());
      // Another node may have answered the key a moment ago.
      await parts.view.catchUp();
      return answerOnce(parts, exchange, route, key, true);
    case "taken":
      return replyToRefusal(keyReuse());
  }
}

/**
 * Claims the key. Accepting a contract that a 461 offered repeats the original request with its
 * key, so it gets a second claim with its own response.   AGTP-API §10.1.3
 */
function claimFor({ register }: IdempotencyParts, exchange: Exchange, written: string): Claim {
  const agentId = exchange.caller.agentId ?? "";
  const key = keyFor(exchange, written);
  const fingerprint = fingerprintOf(exchange);
  const claim = register.claim({ agentId, key, fingerprint });
  const presented = presentedContract(exchange);
  if (presented === undefined || claim.kind !== "answered" || claim.status !== OFFERED) {
    return claim;
  }
  // The first response is not read, so its rejection is ignored.
  claim.response.catch(() => undefined);
  // A space cannot occur in a caller's key.
  const accepting = { key: `${key} accepted`, fingerprint: `${fingerprint} ${presented}` };
  return register.claim({ agentId, ...accepting });
}

const OFFERED: Status = 461;

/** Returns the stored key; delegated work has a separate key space for each chain of delegators. */
function keyFor({ caller }: Exchange, key: string): string {
  const behalf = behalfOf(caller);
  return behalf === undefined ? key : `${key} for ${behalf}`;
}

async function execute(
  { services, callHandler }: IdempotencyParts,
  exchange: Exchange,
  route: Route,
  execution: IdempotentExecution,
): Promise<Reply> {
  if (exchange.isAborted) {
    await execution.release();
    return replyToRefusal(keyInUse());
  }
  const reply = encode(await callHandler(exchange, route, asItIs), exchange, services);
  try {
    await settle(execution, exchange, reply);
  } catch (cause) {
    // The request was executed all the same, and a repeated one is told so.
    faultReply(exchange, services, "the response under an Idempotency-Key cannot be kept", cause);
  }
  return reply;
}

async function settle(
  execution: IdempotentExecution,
  exchange: Exchange,
  reply: Reply,
): Promise<void> {
  const response = keepReply(reply, exchange);
  if (isOpenOutcome(reply)) execution.abandon();
  else if (isPassing(exchange, reply)) await execution.release(response);
  else if (isGivenUp(exchange, reply)) execution.abandon();
  else await execution.answer(response, mayBeKept(reply));
}

function asItIs(reply: Reply): Reply {
  return reply;
}

function encode(reply: Reply, exchange: Exchange, services: InvokeServices): Reply {
  try {
    return encodeReply(reply);
  } catch (cause) {
    return encodeReply(faultReply(exchange, services, "the body cannot be encoded", cause));
  }
}

/**
 * Tells whether the same request may get another reply later. An executed function may return a
 * refusal, which does not prove that nothing was done.
 */
function isPassing({ awaitsAnswer, hasActed }: Exchange, reply: Reply): boolean {
  return reply.refusal === undefined ? awaitsAnswer : !hasActed && !isLasting(reply);
}

/** Tells whether the handler gave up because its caller left, so that its effects are unknown. */
function isGivenUp({ isAborted }: Exchange, { refusal }: Reply): boolean {
  return isAborted && refusal !== undefined && refusal.code !== "handler-timeout";
}

/** Replies to a request that waited for another with its key; an undefined outcome means it could not wait. */
function replyTo(
  parts: IdempotencyParts,
  exchange: Exchange,
  outcome: ExecutionOutcome | undefined,
): Reply {
  if (outcome === undefined || outcome.kind === "not-begun") return replyToRefusal(keyInUse());
  const response = outcome.kind === "answered" ? outcome.response : undefined;
  return replay(parts, exchange, response) ?? replyToRefusal(outcomeUnknown());
}

function replay(
  { directory }: IdempotencyParts,
  exchange: Exchange,
  response: KeptResponse | undefined,
): Reply | undefined {
  if (response === undefined) return undefined;
  const { addressed, partScopes = [] } = response;
  // Gate 17 has checked the endpoint's own scopes.
  const refusal = refuseUncovered(partScopes, exchange.caller.authority);
  if (refusal !== undefined) return replyToRefusal(refusal);
  if (addressed !== undefined) exchange.addressed = directory.find(addressed);
  return replayReply(response);
}

function keyReuse(): Refusal {
  const message = "the Idempotency-Key belongs to a request with another method, path, query, body";
  return idempotencyConflict("idempotency-key-reuse", `${message} or credential`);
}

function keyInUse(): Refusal {
  const message = "a request with this Idempotency-Key is being executed, and was not waited for";
  return idempotencyConflict("idempotency-key-in-use", message);
}

function outcomeUnknown(): Refusal {
  const message = "the request with this Idempotency-Key was begun, and its outcome is not known";
  return idempotencyConflict("idempotency-outcome-unknown", message);
}

function notKept(status: number): Refusal {
  const message = `the request with this Idempotency-Key was answered ${status}, which was not kept`;
  return idempotencyConflict("idempotency-response-not-kept", message, { status });
}

/**
 * Returns a hash that is equal for equal requests: method and path as answered, mapped parameters,
 * query and body. The credentials count too: a reply to a certificate or bearer token is not for a
 * caller that merely claims the same Agent-ID.
 */
export function fingerprintOf(exchange: Exchange): string {
  const { method, path, request, mappedParameters = null, caller } = exchange;
  const asked = [method, path, mappedParameters, request.query ?? "", hash("sha256", request.body)];
  const vouched = [caller.isCertified, caller.principalId ?? ""];
  return hash("sha256", JSON.stringify([...asked, ...vouched]));
}
