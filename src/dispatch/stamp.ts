/**
 * The last step: what every response carries, whatever happened before. Server-ID and Response-ID
 * always; Agent-ID, Task-ID and Request-ID echoed; the warnings of a deprecated method or endpoint
 * on success and failure alike.   AGTP "Response Headers", AGTP-API §4.4, §6.5, §17.4
 */
import { uuidv7 } from "../identity/uuid.ts";
import type { HeaderField, Response } from "../wire/message.ts";
import type { Exchange } from "./exchange.ts";
import type { Reply } from "./reply.ts";

/** The contract-layer version every response names. */
export const AGTP_API_VERSION = "1.0";

export type Stamp = (reply: Reply, exchange?: Exchange) => Response;

/** Stamps for one server. A body that cannot be encoded throws, as a fault of its handler. */
export function createStamp(serverId: string): Stamp {
  const server: HeaderField = ["Server-ID", serverId];
  const version: HeaderField = ["AGTP-API-Version", AGTP_API_VERSION];
  return (reply, exchange) => {
    const headers: HeaderField[] = [server, version, ["Response-ID", uuidv7()]];
    if (exchange !== undefined) pushExchangeFields(headers, exchange);
    if (reply.headers !== undefined) headers.push(...Object.entries(reply.headers));
    const body = encodeBody(reply);
    if (body.length > 0) headers.push(["Content-Type", reply.contentType]);
    return { status: reply.status, headers, body };
  };
}

function pushExchangeFields(headers: HeaderField[], exchange: Exchange): void {
  const { taskId, catalogWarning, route } = exchange;
  const agentId = exchange.header("agent-id");
  const requestId = exchange.header("request-id");
  if (agentId !== undefined) headers.push(["Agent-ID", agentId]);
  if (requestId !== undefined) headers.push(["Request-ID", requestId]);
  if (taskId !== undefined) headers.push(["Task-ID", taskId]);
  if (catalogWarning !== undefined) headers.push(["AGTP-Catalog-Warning", catalogWarning]);
  if (route?.warning !== undefined) headers.push(["AGTP-Endpoint-Warning", route.warning]);
}

function encodeBody({ status, body }: Reply): string | Uint8Array {
  if (status === 204 || body === undefined) return "";
  if (body instanceof Uint8Array) return body;
  const text: string | undefined = JSON.stringify(body);
  if (text === undefined) throw new TypeError("the body has no JSON form");
  return text;
}
