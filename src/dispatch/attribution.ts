/**
 * The facts that a response is attributed with: the caller, the request, its identifiers and the
 * answer. Only what an agent of this server did goes into its chain.
 * AGTP-IDENTIFIERS "Attribution-Record"
 */

import { uuidv7 } from "../identity/uuid.ts";
import type { Attributor } from "../state/records/attributor.ts";
import type { RecordDraft } from "../state/records/draft.ts";
import type { RecordFacts } from "../state/records/record.ts";
import type { PresentedApproval } from "./approvals/approval-step.ts";
import { concealPath } from "./concealment.ts";
import { linkEntry } from "./delegation.ts";
import type { Exchange } from "./exchange.ts";
import type { Reply } from "./reply.ts";

/** A response as its record describes it. */
export interface AttributedResponse {
  readonly responseId: string;
  readonly body: string | Uint8Array;
}

/** The draft of the record of one response; undefined exchange: the bytes were no request. */
export function attribute(
  attributor: Attributor,
  reply: Reply,
  exchange: Exchange | undefined,
  response: AttributedResponse,
): RecordDraft {
  if (exchange === undefined) return attributor.unchained(faultFacts(reply, response));
  const facts = factsOf(exchange, reply, response);
  return isChained(exchange, reply) ? attributor.chained(facts) : attributor.unchained(facts);
}

function isChained({ caller }: Exchange, { refusal }: Reply): boolean {
  return caller.document !== undefined && refusal?.code !== "attribution-unavailable";
}

function factsOf(exchange: Exchange, reply: Reply, response: AttributedResponse): RecordFacts {
  const { caller, route, request } = exchange;
  const isAction = route !== undefined && !route.isReading;
  return {
    agentId: caller.agentId ?? "",
    ownerId: caller.ownerId ?? caller.document?.ownerId ?? "",
    requestId: exchange.header("request-id") ?? "",
    responseId: response.responseId,
    actionId: isAction ? uuidv7() : undefined,
    method: exchange.method,
    requestedMethod: exchange.requestedMethod,
    path: concealPath(exchange.path, route),
    status: reply.status,
    sessionId: exchange.sessionId,
    taskId: exchange.taskId,
    principalId: caller.principalId,
    traceId: exchange.traceId,
    assurance: caller.isCertified ? "certificate-bound" : "unverified",
    requestBody: request.body,
    responseBody: response.body,
    extension: extensionOf(exchange),
  };
}

/**
 * The contract that it was done under, how it came, by whom it was delegated, and what it depends
 * on.
 */
function extensionOf(exchange: Exchange): RecordFacts["extension"] {
  const { contract, caller, priorActions, approval, requestedVia, person: operator } = exchange;
  const { delegation } = caller;
  const isOwn = delegation === undefined && operator === undefined;
  const isPlain = isOwn && approval === undefined && requestedVia === undefined;
  if (isPlain && priorActions.length === 0) return contract && { ...contract };
  return {
    ...contract,
    ...(requestedVia === undefined ? {} : { requested_via: requestedVia }),
    ...(operator === undefined ? {} : { operator }),
    ...(approval === undefined ? {} : approvalEntry(approval)),
    ...(delegation === undefined ? {} : { delegation_chain: delegation.links.map(linkEntry) }),
    ...(priorActions.length === 0 ? {} : { prior_actions: priorActions }),
  };
}

function approvalEntry({ escalationId, digest }: PresentedApproval): object {
  const bound = digest === undefined ? {} : { call_digest: digest };
  return { escalation_id: escalationId, ...bound };
}

function faultFacts(reply: Reply, { responseId, body }: AttributedResponse): RecordFacts {
  return {
    agentId: "",
    ownerId: "",
    requestId: "",
    responseId,
    actionId: undefined,
    method: "",
    requestedMethod: undefined,
    path: "",
    status: reply.status,
    sessionId: undefined,
    taskId: undefined,
    principalId: undefined,
    assurance: "unverified",
    requestBody: "",
    responseBody: body,
  };
}
