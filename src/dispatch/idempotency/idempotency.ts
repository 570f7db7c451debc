/**
 * Answers a request under an Idempotency-Key: its handler is called once, and whoever asks for the
 * same again, meanwhile or later, gets the same reply. 409 `idempotency-key-reuse` for another
 * request under the key, `idempotency-key-in-use` where it cannot be waited for,
 * `idempotency-outcome-unknown` and `idempotency-response-not-kept` where the reply is not known any
 * more: executing it again is for the caller to decide.   AGTP-API §10.1.5
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
 * The Idempotency-Key that a request is under, for what may change something and is asked for by an
 * agent of this server; undefined: the request is executed as often as it comes. The key is a header
 * field, or a member of the input where the endpoint has one for it. 400 `invalid-identifier` for a key
 * that is malformed, or two that differ.   AGTP "Request Headers", AGTP-API §10.1.5
 */
export function readIdempotencyKey(exchange: Exchange, route: Route): string | Refusal | undefined {
  if (route.isReading || exchange.caller.document === undefined) return undefined;
  // An inner dispatch belongs to the request that has the key.
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

/** The parts that answer requests under a key. */
interface IdempotencyParts {
  readonly register: Pick<IdempotencyRegister, "claim">;
  readonly view: Pick<ViewLease, "catchUp">;
  readonly directory: Pick<AgentDirectory, "find">;
  readonly services: InvokeServices;
  readonly callHandler: CallHandler;
}

/** Never rejects. */
export type AnswerOnce = (exchange: Exchange, route: Route, key: string) => Promise<Reply>;

/** Answers requests that have passed every gate, in the place of what calls handlers. */
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
      // Another process was faster, and may still be at it.
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
      // Another node may have answered it a moment ago.
      await parts.view.catchUp();
      return answerOnce(parts, exchange, route, key, true);
    case "taken":
      return replyToRefusal(keyReuse());
  }
}

/**
 * Accepting what a 461 offered is the original request once more, with its key: it is a second turn
 * under that key, and has a response of its own.   AGTP-API §10.1.3
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
  // The answer to the first turn is not read.
  claim.response.catch(() => undefined);
  // No key of a caller has a space.
  const accepting = { key: `${key} accepted`, fingerprint: `${fingerprint} ${presented}` };
  return register.claim({ agentId, ...accepting });
}

const OFFERED: Status = 461;

/** The key as it is kept: of what an agent does for others, they have keys of their own. */
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
    // It was executed all the same, and a caller that asks again is told that.
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
 * Tells whether the same request may get another reply. A function that was executed may answer in the words of a
 * refusal, which is none that says that nothing was done.
 */
function isPassing({ awaitsAnswer, hasActed }: Exchange, reply: Reply): boolean {
  return reply.refusal === undefined ? awaitsAnswer : !hasActed && !isLasting(reply);
}

/** A handler that gives up since its caller left says nothing of what it did until then. */
function isGivenUp({ isAborted }: Exchange, { refusal }: Reply): boolean {
  return isAborted && refusal !== undefined && refusal.code !== "handler-timeout";
}

/** Answers a request that has waited for another one under its key; undefined: it could not wait. */
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
  // Of its own endpoint's the gate has asked.
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
 * Equal for two requests that ask for the same: method and path as they are answered, what a legacy
 * verb adds, query and body. They must also be vouched for alike: a reply to a certificate or a
 * bearer token is not for a caller that merely says to be the same agent.
 */
export function fingerprintOf(exchange: Exchange): string {
  const { method, path, request, mappedParameters = null, caller } = exchange;
  const asked = [method, path, mappedParameters, request.query ?? "", hash("sha256", request.body)];
  const vouched = [caller.isCertified, caller.principalId ?? ""];
  return hash("sha256", JSON.stringify([...asked, ...vouched]));
}
