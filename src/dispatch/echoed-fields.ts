/**
 * The lines of a response from the end of its Response-ID on: what it echoes of the request, what it warns of,
 * and the standing of its agent. A head is written piece by piece, so those that the answers of a connection
 * have in common are made one piece: a third less for heads.   AGTP "Response Headers"
 */
import { flatText } from "../base/flat-text.ts";
import type { Exchange } from "./exchange.ts";

/** The lines, with those of the standing at their end. */
export function echoedFields(exchange: Exchange, standing: string): string {
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

/** A request that names a known agent, and nothing else that is echoed. */
function isPlain(exchange: Exchange): boolean {
  const { taskId, catalogWarning, route, caller } = exchange;
  if (!exchange.isNamed || caller.document === undefined || taskId !== undefined) return false;
  if (catalogWarning !== undefined || route?.warning !== undefined) return false;
  return !exchange.request.headers.has("request-id");
}

function makeLines(exchange: Exchange, standing: string): string {
  const { taskId, catalogWarning, route } = exchange;
  const agentId = exchange.header("agent-id");
  const requestId = exchange.header("request-id");
  let fields = "\r\n";
  if (agentId !== undefined) fields += `Agent-ID: ${agentId}\r\n`;
  if (requestId !== undefined) fields += `Request-ID: ${requestId}\r\n`;
  if (taskId !== undefined) fields += `Task-ID: ${taskId}\r\n`;
  if (catalogWarning !== undefined) fields += `AGTP-Catalog-Warning: ${catalogWarning}\r\n`;
  if (route?.warning !== undefined) fields += `AGTP-Endpoint-Warning: ${route.warning}\r\n`;
  return fields + standing;
}
