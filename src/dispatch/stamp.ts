/**
 * The last step: what every response carries, whatever happened before. Server-ID and Response-ID
 * always, and the record of the answer; Agent-ID, Task-ID and Request-ID echoed; the standing of the
 * agent that is spoken for; the warnings of a deprecated method or endpoint on success and failure
 * alike.   AGTP "Response Headers", AGTP-API §4.4, §6.5, §17.4
 */

import { flatText } from "../base/flat-text.ts";
import { sharedEncoding } from "../base/shared-body.ts";
import { uuidv7 } from "../identity/uuid.ts";
import type { Attributor } from "../state/records/attributor.ts";
import type { Response } from "../wire/message.ts";
import { fieldLines } from "../wire/serialize.ts";
import type { StandingFields } from "./addressed-agent.ts";
import { attribute } from "./attribution.ts";
import type { Exchange } from "./exchange.ts";
import { AGTP_JSON, type Reply } from "./reply.ts";

/** The contract-layer version every response names. */
export const AGTP_API_VERSION = "1.0";

export type Stamp = (reply: Reply, exchange?: Exchange) => Response;

/** The values that responses are stamped with. */
export interface StampOptions {
  readonly serverId: string;
  /** Undefined: responses carry no record. */
  readonly attributor: Attributor | undefined;
  readonly standingFields: StandingFields;
  /** The methods that the first response of a connection names. */
  readonly supportedMethods: string;
}

/**
 * Stamps for one server. A body that cannot be encoded throws, as a fault of its handler. No value
 * can break its line: each comes from a parsed head, was checked as an identifier, or was checked
 * when the file or the handler's answer that it stands in was read.
 */
export function createStamp(options: StampOptions): Stamp {
  const { serverId, attributor, standingFields, supportedMethods } = options;
  const opening = flatText(
    `Server-ID: ${serverId}\r\nAGTP-API-Version: ${AGTP_API_VERSION}\r\nResponse-ID: `,
  );
  return (reply, exchange) => {
    const responseId = exchange === undefined ? uuidv7() : exchange.responseId;
    const body = encodeBody(reply);
    let fields = `${opening}${responseId}\r\n`;
    if (exchange !== undefined) fields += exchangeFields(exchange) + standingFields(exchange);
    if (exchange?.isFirst) fields += `Supported-Methods: ${supportedMethods}\r\n`;
    if (reply.headers !== undefined) fields += fieldLines(Object.entries(reply.headers));
    if (body.length > 0) fields += contentTypeLine(reply.contentType);
    // Nothing ran, so there is nothing to attribute.
    const isUnattributed = reply.refusal?.code === "store-unavailable";
    const lateFields =
      attributor === undefined || isUnattributed
        ? undefined
        : attribute(attributor, reply, exchange, { responseId, body });
    return { status: reply.status, responseId, fields, lateFields, body };
  };
}

const AGTP_JSON_LINE = flatText(`Content-Type: ${AGTP_JSON}\r\n`);

function contentTypeLine(contentType: string): string {
  return contentType === AGTP_JSON ? AGTP_JSON_LINE : `Content-Type: ${contentType}\r\n`;
}

function exchangeFields(exchange: Exchange): string {
  const { taskId, catalogWarning, route } = exchange;
  const agentId = exchange.header("agent-id");
  const requestId = exchange.header("request-id");
  let fields = "";
  if (agentId !== undefined) fields += `Agent-ID: ${agentId}\r\n`;
  if (requestId !== undefined) fields += `Request-ID: ${requestId}\r\n`;
  if (taskId !== undefined) fields += `Task-ID: ${taskId}\r\n`;
  if (catalogWarning !== undefined) fields += `AGTP-Catalog-Warning: ${catalogWarning}\r\n`;
  if (route?.warning !== undefined) fields += `AGTP-Endpoint-Warning: ${route.warning}\r\n`;
  return fields;
}

/** The body as it is sent. Throws for a value that has no JSON form. */
export function encodeBody(reply: Reply): string | Uint8Array {
  const { status, text: known } = reply;
  if (known !== undefined) return known;
  const { body } = reply;
  if (status === 204 || body === undefined) return "";
  const shared = typeof body === "object" && body !== null ? sharedEncoding(body) : undefined;
  if (shared !== undefined) return shared;
  // It may take long to leave, and its handler may have other plans with it.
  if (body instanceof Uint8Array) return body.slice();
  const text: string | undefined = JSON.stringify(body);
  if (text === undefined) throw new TypeError("the body has no JSON form");
  return text;
}
