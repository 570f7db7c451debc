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
  )},"path":${quoted(concealPath(request.path, exchange.route))},"status":${response.status},"duration_ms":${milliseconds(durationMs)}`;
  line += field("code", reply.refusal?.code);
  line += field(
    "answered_as",
    exchange.requestedMethod === undefined ? undefined : exchange.method,
  );
  line += field("agent_id", exchange.caller.agentId ?? exchange.header("agent-id"));
  line += field("request_id", exchange.header("request-id"));
  line += `,"response_id":"${response.responseId}"`;
  line += field("task_id", exchange.taskId);
  line += field("session_id", exchange.sessionId);
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

/** The thousandths of a number as JSON writes them, by their count: "", ".001", ".002" and so on. */
const THOUSANDTHS: readonly string[] = Array.from({ length: 1000 }, (_, count) =>
  String(count / 1000).slice(1),
);

/** To the microsecond; a number that is no integer takes V8 longer to write than all of this. */
export function milliseconds(duration: number): string {
  const micros = Math.round(duration * 1000);
  const whole = Math.floor(micros / 1000);
  return `${whole}${THOUSANDTHS[micros - whole * 1000]}`;
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
