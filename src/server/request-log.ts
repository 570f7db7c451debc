/**
 * One JSON line a request: ids, method, path, status, duration. Never a header, body or query, so
 * no secret can get in. Statuses of AGTP's own are written whatever the level.   AGTP "Status Codes"
 */

import { jsonText } from "../base/json-value.ts";
import { concealPath } from "../dispatch/concealment.ts";
import type { Exchange } from "../dispatch/exchange.ts";
import type { Peer } from "../dispatch/peer.ts";
import type { Reply } from "../dispatch/reply.ts";
import type { Response, WireFaultCode } from "../wire/message.ts";

/** The line of one answered request, without its line feed. */
export function requestLine(
  exchange: Exchange,
  response: Response,
  reply: Reply,
  durationMs: number,
): string {
  const { request } = exchange;
  let line = `{"level":"info","time":"${isoNow()}","event":"request","method":${quoted(
    exchange.translatedFrom ?? request.method,
  )},"path":${quoted(concealPath(request.path, exchange.route))},"status":${response.status},"duration_ms":${
    Math.round(durationMs * 1000) / 1000
  }`;
  line += field("code", reply.refusal?.code);
  line += field(
    "answered_as",
    exchange.requestedMethod === undefined ? undefined : exchange.method,
  );
  line += field("agent_id", exchange.caller.agentId ?? exchange.header("agent-id"));
  line += field("request_id", exchange.header("request-id"));
  line += field("response_id", response.responseId);
  line += field("task_id", exchange.taskId);
  line += field("session_id", exchange.sessionId);
  line += field("trace_id", exchange.traceId);
  line += field("error_id", reply.refusal?.carried?.["error_id"]);
  line += field("remote", exchange.peer.address);
  return `${line}}`;
}

/** The line of bytes that were no request; the fault's message quotes them, and stays out. */
export function wireFaultLine(
  code: WireFaultCode,
  response: Response,
  peer: Peer | undefined,
): string {
  let line = `{"level":"info","time":"${isoNow()}","event":"request","status":${response.status}`;
  line += field("code", code);
  line += field("response_id", response.responseId);
  line += field("remote", peer?.address);
  return `${line}}`;
}

const MAX_LOGGED_LENGTH = 512;

function quoted(text: string): string {
  const isLong = text.length > MAX_LOGGED_LENGTH;
  return jsonText(isLong ? `${text.slice(0, MAX_LOGGED_LENGTH)}…` : text);
}

function field(name: string, value: unknown): string {
  return typeof value === "string" ? `,"${name}":${quoted(value)}` : "";
}

let cachedAt = 0;
let cached = "";

/** The time as RFC 3339, made anew at most once a millisecond. */
function isoNow(): string {
  const now = Date.now();
  if (now !== cachedAt) {
    cachedAt = now;
    cached = new Date(now).toISOString();
  }
  return cached;
}
