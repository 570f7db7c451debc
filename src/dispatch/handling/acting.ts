/**
 * Requests that the server makes in an agent's name, such as a delegated task or the notice of one.
 * Since the caller is known, they only pass the ledger and lifecycle checks, then every gate from
 * the alias on. Each has its own record in the agent's chain.   AGTP "DELEGATE", AGTP-IDENTIFIERS
 * "Attribution-Record"
 */
import { parseNoting } from "../../base/exact-numbers.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import type { CallSurroundings } from "../../handlers/call-upstream.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { Operator } from "../../state/registers/operator.ts";
import { type Request, type Response, splitTarget } from "../../wire/message.ts";
import type { Caller } from "../caller/caller.ts";
import { claimedAuthority } from "../caller/caller-resolver.ts";
import type { Delegation, PriorAction } from "../caller/delegation.ts";
import type { ActEntrance } from "../dispatcher.ts";
import { Exchange } from "../exchange.ts";
import { type Recording, recorded, recordOf } from "../recorded.ts";
import { AGTP_JSON } from "../reply.ts";

export interface Acting {
  readonly caller: Caller;
  /** The person in whose name it is made, if no agent makes it. */
  readonly operator?: Operator;
  /** The person who had the agent ask; recorded, but without rights. */
  readonly askedBy?: Operator;
  readonly method: string;
  /** The path, with the query if there is one. */
  readonly target: string;
  readonly input: JsonRecord;
  readonly taskId: string | undefined;
  /** The escalation of the causing request, whose approval may be for this very call. */
  readonly escalationId?: string | undefined;
  readonly priorActions?: readonly PriorAction[];
  /** The work that waits for the answer. */
  readonly waitedForBy?: CallSurroundings | undefined;
  readonly signal: AbortSignal;
}

/** The answer to an acting request. */
export interface Acted {
  readonly status: number;
  readonly body: unknown;
  /** The Audit-ID of its record; undefined if none is kept. */
  readonly auditId: string | undefined;
  readonly responseId: string;
  /** The gate that refused the request. */
  readonly refusedBy: string | undefined;
  /** True if the same request gets another answer once an operator has decided. */
  readonly awaitsAnswer?: boolean;
}

/** Makes a request in an agent's name. */
export type ActAs = (acting: Acting) => Promise<Acted>;

/** Builds the caller for an agent of this server, with the given scopes and no others. */
export function actingCaller(
  agent: AgentDocument,
  scopes: readonly string[],
  delegation?: Delegation,
): Caller {
  return {
    agentId: agent.agentId,
    ownerId: agent.ownerId,
    principalId: undefined,
    document: agent,
    authority: claimedAuthority(scopes),
    trustTier: agent.trustTier,
    isCertified: false,
    delegation,
  };
}

/** Creates `ActAs` over a pipeline. It rejects if the answer's record is not known to be kept. */
export function createActAs(dispatcher: ActEntrance, ledger: Recording): ActAs {
  return async (acting) => {
    const exchange = exchangeOf(acting);
    const { signal } = acting;
    const abort = (): void => exchange.abort(new Error("the task was given up"));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const { response, isKept, failure } = await recorded(ledger, await dispatcher.act(exchange));
      if (!isKept) throw failure ?? new Error("the record of what was asked for is not kept");
      const { responseId, refusedBy, awaitsAnswer } = exchange;
      const auditId = recordOf(response)?.auditId;
      const told = { status: response.status, body: bodyOf(response), auditId };
      return { ...told, responseId, refusedBy, awaitsAnswer };
    } finally {
      signal.removeEventListener("abort", abort);
    }
  };
}

function exchangeOf(acting: Acting): Exchange {
  const { caller, operator, method, target, input, taskId, escalationId, priorActions } = acting;
  const headers = new Map([["request-id", uuidv7()]]);
  if (caller.agentId !== undefined) headers.set("agent-id", caller.agentId);
  if (taskId !== undefined) headers.set("task-id", taskId);
  if (escalationId !== undefined) headers.set("escalation-id", escalationId);
  const request = envelopedRequest({ method, ...splitTarget(target), headers }, input);
  // No certificate vouches for the server's own requests.
  const peer = { address: "", port: 0, operator };
  const exchange = new Exchange(request, peer, performance.now());
  exchange.caller = caller;
  exchange.askedBy = acting.askedBy;
  exchange.waitedForBy = acting.waitedForBy;
  for (const prior of priorActions ?? []) exchange.notePriorAction(prior);
  return exchange;
}

/** Builds a request of the server's own; its input is enveloped, so that it is not mistaken for an envelope. */
export function envelopedRequest(
  { headers, ...asked }: Omit<Request, "body">,
  parameters: JsonRecord,
): Request {
  return {
    ...asked,
    headers: new Map(headers).set("content-type", AGTP_JSON),
    body: Buffer.from(JSON.stringify({ method: asked.method, parameters })),
  };
}

function bodyOf({ body }: Response): unknown {
  if (body.length === 0) return undefined;
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  const value = parseNoting(text);
  return value === undefined ? text : value;
}
