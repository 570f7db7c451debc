/**
 * The last step: the fields of every response, whatever happened before. These are Server-ID,
 * Response-ID and the draft of the Attribution-Record; the echoed Agent-ID, Task-ID and Request-ID;
 * the trust fields of the agent concerned; and the warnings of a deprecated method or endpoint, on
 * success and failure alike.   AGTP "Response Headers", AGTP-IDENTIFIERS "Attribution-Record",
 * AGTP-API §4.4, §6.5, §17.4
 */

import { given, writeJson } from "../base/json-value.ts";
import { flatText, sharedEncoding } from "../base/kept-text.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { uuidv7 } from "../identity/uuid.ts";
import type { Attributor } from "../state/records/ledger.ts";
import { NO_REQUEST, type RecordDraft, type RecordFacts } from "../state/records/record.ts";
import { fieldLines, type Response } from "../wire/message.ts";
import { linkEntry } from "./caller/delegation.ts";
import type { Exchange } from "./exchange.ts";
import { AGTP_JSON, isJsonType, type Reply } from "./reply.ts";

/** The contract-layer version that every response names. */
export const AGTP_API_VERSION = "1.0";

export type Stamp = (reply: Reply, exchange?: Exchange) => Response;

/** The values that responses are stamped with. */
interface StampOptions {
  readonly serverId: string;
  /** Undefined if responses carry no record. */
  readonly attributor: Attributor | undefined;
  readonly directory: Pick<AgentDirectory, "find">;
  /** The agent of responses whose request names none and whose caller is not hosted here. */
  readonly defaultAgent: AgentDocument | undefined;
  /** The methods that the first response of a connection names. */
  readonly supportedMethods: string;
}

/**
 * Creates the stamp of a server. Throws for a body that cannot be encoded, which is a fault of its
 * handler. No value can contain a line break: each comes from a parsed head, or was checked as an
 * identifier or when its file or answer was read.
 */
export function createStamp(options: StampOptions): Stamp {
  const { serverId, attributor, supportedMethods } = options;
  const trustFields = createTrustFields(options);
  const opening = flatText(
    `Server-ID: ${serverId}\r\nAGTP-API-Version: ${AGTP_API_VERSION}\r\nResponse-ID: `,
  );
  return (reply, exchange) => {
    const responseId = exchange === undefined ? uuidv7() : exchange.responseId;
    const body = encodeBody(reply);
    let fields = opening + responseId;
    fields += exchange === undefined ? "\r\n" : echoedFields(exchange, trustFields(exchange));
    if (exchange?.isFirst) fields += `Supported-Methods: ${supportedMethods}\r\n`;
    if (reply.headers !== undefined) fields += fieldLines(Object.entries(reply.headers));
    if (body.length > 0) {
      const { contentType } = reply;
      fields += contentType === AGTP_JSON ? AGTP_JSON_LINE : `Content-Type: ${contentType}\r\n`;
    }
    // Nothing ran, so there is nothing to attribute.
    const isUnattributed = reply.status === 503 && reply.refusal?.code === "store-unavailable";
    const lateFields =
      attributor === undefined || isUnattributed
        ? undefined
        : attribute(attributor, reply, exchange, { responseId, body });
    return { status: reply.status, responseId, fields, lateFields, body };
  };
}

const AGTP_JSON_LINE = flatText(`Content-Type: ${AGTP_JSON}\r\n`);

/**
 * Creates the trust fields (Owner-ID, Trust-Tier, Verification-Path, Trust-Warning) of a response's
 * agent: the addressed one, else the caller if hosted here, else the configured default. Each
 * agent's lines are made once.   AGTP-TRUST "Trust Posture Loading"
 */
function createTrustFields({
  directory,
  defaultAgent,
}: StampOptions): (exchange: Exchange) => string {
  return ({ addressed, caller }) => {
    const agent = addressed ?? caller.document ?? defaultAgent;
    if (agent === undefined) return "";
    // Only hosted agents have lines, since a peer's document is made anew for each request.
    agent.stamped ??= directory.find(agent.agentId) === agent ? standingLines(agent) : "";
    return agent.stamped;
  };
}

function standingLines(agent: AgentDocument): string {
  const { ownerId, trustTier, verificationPath, trustWarning } = agent;
  const fields: (readonly [string, string])[] = [];
  if (ownerId !== undefined) fields.push(["Owner-ID", ownerId]);
  fields.push(["Trust-Tier", String(trustTier)], ["Verification-Path", verificationPath]);
  if (trustWarning !== undefined) fields.push(["Trust-Warning", trustWarning]);
  return flatText(fieldLines(fields));
}

/** Encodes a body to be sent. Throws for a value without JSON form. */
export function encodeBody(reply: Reply): string | Uint8Array {
  const { status, text: known } = reply;
  if (known !== undefined) return known;
  const { body, contentType } = reply;
  if (status === 204 || body === undefined) return "";
  const shared = typeof body === "object" && body !== null ? sharedEncoding(body) : undefined;
  if (shared !== undefined) return shared;
  // Copied, since it may be sent much later, and the handler may reuse it.
  if (body instanceof Uint8Array) return body.slice();
  if (typeof body === "string" && !isJsonType(contentType)) return body;
  const text = writeJson(body);
  if (text === undefined) throw new TypeError("the body has no JSON form");
  return text;
}

/** The parts of a response that its record describes. */
interface AttributedResponse {
  readonly responseId: string;
  readonly body: string | Uint8Array;
}

/**
 * Drafts the record of a response; without an exchange the bytes were no request. Only actions of
 * this server's agents go into a chain.
 */
function attribute(
  attributor: Attributor,
  reply: Reply,
  exchange: Exchange | undefined,
  response: AttributedResponse,
): RecordDraft {
  const { status, refusal } = reply;
  const { responseId, body: responseBody } = response;
  if (exchange === undefined) {
    return attributor.unchained({ ...NO_REQUEST, status, responseId, responseBody });
  }
  const isChained =
    exchange.caller.document !== undefined && refusal?.code !== "attribution-unavailable";
  const facts = factsOf(exchange, reply, response);
  return isChained ? attributor.chained(facts) : attributor.unchained(facts);
}

function factsOf(exchange: Exchange, reply: Reply, response: AttributedResponse): RecordFacts {
  const { caller, route, request } = exchange;
  const isAction = route !== undefined && !route.isReading;
  return {
    agentId: caller.agentId ?? "",
    ownerId: caller.ownerId ?? caller.document?.ownerId ?? "",
    requestId: bounded(exchange.header("request-id")) ?? "",
    responseId: response.responseId,
    actionId: isAction ? uuidv7() : undefined,
    method: exchange.method,
    requestedMethod: exchange.requestedMethod,
    path: exchange.conceal(exchange.path),
    status: reply.status,
    sessionId: bounded(exchange.sessionId),
    taskId: bounded(exchange.taskId),
    principalId: caller.principalId,
    traceId: exchange.traceId,
    assurance: caller.isCertified ? "certificate-bound" : "unverified",
    requestBody: request.body,
    responseBody: response.body,
    extension: extensionOf(exchange),
  };
}

/** Builds the record's extension: contract, protocol, person, approval, delegation and prior actions. */
function extensionOf(exchange: Exchange): RecordFacts["extension"] {
  const { contract, caller, priorActions, approval, requestedVia, person: operator } = exchange;
  const { delegation } = caller;
  const isOwn = delegation === undefined && operator === undefined;
  const isDirect = isOwn && approval === undefined && requestedVia === undefined;
  if (isDirect && priorActions.length === 0) return contract && { ...contract };
  return {
    ...contract,
    ...given({ requested_via: requestedVia, operator, escalation_id: approval?.escalationId }),
    ...given({ call_digest: approval?.digest, delegation_chain: delegation?.links.map(linkEntry) }),
    ...(priorActions.length === 0 ? {} : { prior_actions: priorActions }),
  };
}

/**
 * Returns the lines after the Response-ID: echoed fields, warnings and trust fields. A head is
 * written piece by piece, so the lines that a connection's answers share are kept as one: a third
 * less time for heads.
 */
function echoedFields(exchange: Exchange, standing: string): string {
  const { caller, peer } = exchange;
  if (!isPlain(exchange)) return makeLines(exchange, standing);
  const before = peer.stamped;
  if (before?.caller === caller && before.standing === standing) {
    before.text ??= flatText(makeLines(exchange, standing));
    return before.text;
  }
  peer.stamped = { caller, standing, text: undefined };
  return makeLines(exchange, standing);
}

/** Tells whether a known agent's Agent-ID is the only field to echo. */
function isPlain(exchange: Exchange): boolean {
  const { taskId, catalogWarning, route, caller } = exchange;
  if (!exchange.isNamed || caller.document === undefined || taskId !== undefined) return false;
  if (catalogWarning !== undefined || route?.warning !== undefined) return false;
  return !exchange.request.headers.has("request-id");
}

function makeLines(exchange: Exchange, standing: string): string {
  const { catalogWarning, route } = exchange;
  const agentId = bounded(exchange.header("agent-id"));
  const requestId = bounded(exchange.header("request-id"));
  const taskId = bounded(exchange.taskId);
  let fields = "\r\n";
  if (agentId !== undefined) fields += `Agent-ID: ${agentId}\r\n`;
  if (requestId !== undefined) fields += `Request-ID: ${requestId}\r\n`;
  if (taskId !== undefined) fields += `Task-ID: ${taskId}\r\n`;
  if (catalogWarning !== undefined) fields += `AGTP-Catalog-Warning: ${catalogWarning}\r\n`;
  if (route?.warning !== undefined) fields += `AGTP-Endpoint-Warning: ${route.warning}\r\n`;
  return fields + standing;
}

const MAX_IDENTIFIER = 256;

/** Drops an overlong identifier, since clients reject a head that echoes it or its record. */
function bounded(identifier: string | undefined): string | undefined {
  return identifier === undefined || identifier.length > MAX_IDENTIFIER ? undefined : identifier;
}
