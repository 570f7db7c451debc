/**
 * Requests that the server makes in an agent's name: a delegated task, the news of one. Who asks is
 * known, so that they pass every gate from the alias on, behind the ledger and the agent's standing;
 * each has a record of its own in the agent's chain.   AGTP "DELEGATE", AGTP-IDENTIFIERS "Attribution-Record"
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
  /** The person in whose name it is made, where no agent makes it. */
  readonly operator?: Operator;
  /** The person at whose wish the agent asks: it stands in the record, and gives no right. */
  readonly askedBy?: Operator;
  readonly method: string;
  /** With its query, if there is one. */
  readonly target: string;
  readonly input: JsonRecord;
  readonly taskId: string | undefined;
  /** The escalation of the request that it is done for: the approval may be for this very act. */
  readonly escalationId?: string | undefined;
  readonly priorActions?: readonly PriorAction[];
  /** The work that waits for the answer. */
  readonly waitedForBy?: CallSurroundings | undefined;
  readonly signal: AbortSignal;
}

/** The answer that the action got. */
export interface Acted {
  readonly status: number;
  readonly body: unknown;
  /** The Audit-ID of its record; undefined where no record is kept. */
  readonly auditId: string | undefined;
  readonly responseId: string;
  /** The gate that refused it. */
  readonly refusedBy: string | undefined;
  /** The same has another answer once an operator has decided. */
  readonly awaitsAnswer?: boolean;
}

/** Makes such requests. */
export type ActAs = (acting: Acting) => Promise<Acted>;

/** An agent of this server, acting with the scopes that it was given and no others. */
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

/** Over a pipeline. Rejects where the record of what was answered is not known to be kept. */
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
  // Nobody's certificate vouches for what the server does by itself.
  const peer = { address: "", port: 0, operator };
  const exchange = new Exchange(request, peer, performance.now());
  exchange.caller = caller;
  exchange.askedBy = acting.askedBy;
  exchange.waitedForBy = acting.waitedForBy;
  for (const prior of priorActions ?? []) exchange.notePriorAction(prior);
  return exchange;
}

/** A request of the server's own making; its input is in an envelope, lest it be taken for one. */
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
