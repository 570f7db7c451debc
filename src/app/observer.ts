/**
 * Forwards the pipeline's reports to the log, one JSON line a request, and to
 * `node:diagnostics_channel`, for metrics and traces. A line has no header, body or query, so that
 * it contains no secrets. AGTP's own statuses are logged at every level.   AGTP "Status Codes"
 */
import { channel } from "node:diagnostics_channel";
import { performance } from "node:perf_hooks";
import { clip, jsonText } from "../base/json-value.ts";
import { flatText } from "../base/kept-text.ts";
import { besideOwn, type Log } from "../base/log.ts";
import type { LoggedParts, Peer } from "../dispatch/caller/peer.ts";
import type { Exchange } from "../dispatch/exchange.ts";
import {
  CHANNELS,
  type Observer,
  type RequestEnd,
  type RequestRefusal,
} from "../dispatch/observer.ts";
import type { Refusal } from "../dispatch/refusals/refusal.ts";
import type { Reply } from "../dispatch/reply.ts";
import type { LoggedOpening } from "../dispatch/routes/route.ts";
import { isAgtpSpecific, type Response, type WireFaultCode } from "../wire/message.ts";

/** Creates an observer that reports to a log and to the channels. */
export function createObserver(log: Log): Observer {
  const started = channel(CHANNELS.start);
  const refused = channel(CHANNELS.refusal);
  const ended = channel(CHANNELS.end);
  const { logger } = log;
  const isVerbose = logger.isLevelEnabled("info");
  const isLogged = (status: number): boolean => isVerbose || isAgtpSpecific(status);

  return {
    hears: (status) => isLogged(status) || ended.hasSubscribers || refused.hasSubscribers,
    start(exchange) {
      if (started.hasSubscribers) started.publish({ exchange });
    },
    end(exchange, response, reply) {
      if (reply.refusal !== undefined && refused.hasSubscribers) {
        const { refusal } = reply;
        refused.publish({ exchange, refusal } satisfies RequestRefusal);
      }
      const logs = isLogged(response.status);
      if (!logs && !ended.hasSubscribers) return;
      exchange.toldAt = performance.now();
      const durationMs = exchange.toldAt - exchange.startedAt;
      if (ended.hasSubscribers) {
        const { status } = response;
        ended.publish({ exchange, status, response, durationMs } satisfies RequestEnd);
      }
      if (logs) log.writeLine(requestEntry(exchange, response, reply, durationMs));
    },
    wireFault(fault, response, peer) {
      if (ended.hasSubscribers) {
        const end: RequestEnd = { exchange: undefined, status: response.status, durationMs: 0 };
        ended.publish(end);
      }
      if (isLogged(response.status)) {
        log.writeLine(wireFaultEntry(fault.code, response, peer));
      }
    },
    fault({ errorId, exchange, message, cause }) {
      const call = {
        error_id: errorId,
        method: exchange.method,
        endpoint: exchange.route?.path,
        ...(cause === undefined ? {} : { error: cause }),
      };
      // A handler is expected to give up when its caller has left, so that is no fault.
      if (cause !== undefined && exchange.isAborted) {
        logger.info({ event: "abandoned", ...call }, "the call was ended before it was answered");
      } else logger.error({ event: "fault", ...call }, message);
    },
    logFor(exchange) {
      const members = {
        endpoint: `${exchange.method} ${exchange.route?.path ?? exchange.path}`,
        agent_id: exchange.caller.agentId,
        request_id: exchange.header("request-id"),
        task_id: exchange.taskId,
        trace_id: traceOf(exchange),
      };
      return logger.child(members, { formatters: { log: (fields) => besideOwn(fields) } });
    },
  };
}

/** Returns the trace of a request; inner dispatches belong to their parent's. */
function traceOf({ traceId, inner }: Exchange): string | undefined {
  return inner === undefined ? traceId : traceOf(inner.parent);
}

/** Builds the line of an answered request, without its line feed. */
function requestEntry(
  exchange: Exchange,
  response: Response,
  reply: Reply,
  durationMs: number,
): string {
  const parts = repeatedParts(exchange);
  const { opening, code } = openingOf(exchange, response.status, reply.refusal?.code);
  const requestId = exchange.header("request-id");
  let line = lineStart(exchange.startedAt + durationMs) + opening + milliseconds(durationMs) + code;
  if (exchange.requestedMethod !== undefined) line += field("answered_as", exchange.method);
  line +=
    requestId === undefined
      ? parts.toResponseId
      : `${parts.agent}${field("request_id", requestId)}${RESPONSE_ID}`;
  line += response.responseId;
  const rest = fieldsBehind(exchange, reply);
  return line + (rest === "" ? parts.remote : `"${rest}${parts.remote.slice(1)}`);
}

/** Returns the fields between the Response-ID and the address, mostly none. */
function fieldsBehind({ taskId, sessionId, traceId }: Exchange, { refusal }: Reply): string {
  return (
    field("task_id", taskId) +
    field("session_id", sessionId) +
    field("trace_id", traceId) +
    field("error_id", refusal?.carried?.["error_id"])
  );
}

const RESPONSE_ID = ',"response_id":"';

/**
 * Returns the repeated parts of a connection's lines, encoded again only after a change. An unknown
 * Agent-ID may be a slice of its head, so it is not kept.
 */
function repeatedParts({ peer, caller, request }: Exchange): LoggedParts {
  const agentId = caller.agentId ?? request.headers.get("agent-id");
  const before = peer.logged;
  if (before !== undefined && before.agentId === agentId) return before;
  const remote = before?.remote ?? flatText(`"${field("remote", peer.address)}}`);
  const agent = field("agent_id", agentId);
  if (caller.agentId !== agentId) {
    peer.logged ??= { agentId: undefined, agent: "", toResponseId: RESPONSE_ID, remote };
    return { agentId, agent, toResponseId: agent + RESPONSE_ID, remote };
  }
  peer.logged = { agentId, agent, toResponseId: flatText(agent + RESPONSE_ID), remote };
  return peer.logged;
}

/** Builds the line of bytes that were no request, without the fault's message, which quotes them. */
function wireFaultEntry(code: WireFaultCode, response: Response, peer: Peer | undefined): string {
  let line = `${lineStart(performance.now())},"status":${response.status}`;
  line += field("code", code);
  line += field("response_id", response.responseId);
  line += field("remote", peer?.address);
  return `${line}}`;
}

/** Durations below a millisecond as JSON writes them, by microseconds: "0", "0.001", "0.002" and so on. */
const BELOW_ONE: readonly string[] = Array.from({ length: 1000 }, (_, micros) =>
  String(micros / 1000),
);

/**
 * Formats a duration to the microsecond, because V8 takes longer to write a fraction than all of
 * this. Most durations are below 1 and come from a table: V8 caches few number texts, and 0 would
 * evict those like 38.5 or 0.25, which handlers' results would then format anew each time, a
 * twentieth of a request.
 */
export function milliseconds(duration: number): string {
  const micros = Math.max(0, Math.round(duration * 1000));
  if (micros < 1000) return BELOW_ONE[micros]!;
  const whole = Math.floor(micros / 1000);
  return `${whole}${BELOW_ONE[micros - whole * 1000]!.slice(1)}`;
}

/** The end of a line's start after the seconds, by milliseconds. */
const MILLISECONDS: readonly string[] = Array.from(
  { length: 1000 },
  (_, count) => `${String(count).padStart(3, "0")}Z","event":"request"`,
);

let second = -1;
let cached = "";
/** The last start of a line, and its time by `performance.now()`. */
let started = "";
let startedAt = -1;

/**
 * Returns a line up to its RFC 3339 time; `at` is now, by `performance.now()`. It is reused within
 * a millisecond, and its seconds are formatted once a second.
 */
function lineStart(at: number): string {
  if (at - startedAt < 1) return started;
  const now = Date.now();
  const milliseconds = now % 1000;
  if (now - milliseconds !== second) {
    second = now - milliseconds;
    const upTo = new Date(second).toISOString().slice(0, -"000Z".length);
    cached = flatText(`{"level":"info","time":"${upTo}`);
  }
  startedAt = at;
  started = flatText(cached + MILLISECONDS[milliseconds]);
  return started;
}

const MAX_LOGGED_LENGTH = 512;

/** Formats a further field; empty for anything but a text. */
function field(name: string, value: unknown): string {
  return typeof value === "string" ? `,"${name}":${quoted(value)}` : "";
}

function quoted(text: string): string {
  return jsonText(clip(text, MAX_LOGGED_LENGTH));
}

interface LoggedRefusal {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: Refusal["code"];
  /** Made for the second equal refusal. */
  parts: LoggedOpening | undefined;
}

/** The number of slots, which is small since a path may be a slice that keeps its whole head alive. */
const SLOTS = 64;
const refused = new Array<LoggedRefusal | undefined>(SLOTS).fill(undefined);

/**
 * Returns the opening of a line, with the code of a refusal. It is cached for equal requests and
 * answers: a line is written piece by piece, and a third of the pieces halves the time.
 */
function openingOf(
  exchange: Exchange,
  status: number,
  code: Refusal["code"] | undefined,
): LoggedOpening {
  if (code === undefined) return answeredOpening(exchange, status);
  if (exchange.route?.concealment !== undefined) return refusedOpening(exchange, status, code);
  const { request, translatedFrom } = exchange;
  const { path } = request;
  const method = translatedFrom ?? request.method;
  const slot =
    (status * 7 + path.length * 5 + method.length + path.charCodeAt(path.length - 1)) & 63;
  const before = refused[slot];
  if (
    before === undefined ||
    before.status !== status ||
    before.code !== code ||
    before.method !== method ||
    before.path !== path
  ) {
    refused[slot] = { method, path, status, code, parts: undefined };
    return refusedOpening(exchange, status, code);
  }
  if (before.parts === undefined) {
    const parts = refusedOpening(exchange, status, code);
    before.parts = { opening: flatText(parts.opening), code: flatText(parts.code) };
  }
  return before.parts;
}

function refusedOpening(exchange: Exchange, status: number, code: string): LoggedOpening {
  return { opening: makeOpening(exchange, status), code: field("code", code) };
}

/** Returns the opening of an answer; it is cached if the path equals its endpoint's. */
function answeredOpening(exchange: Exchange, status: number): LoggedOpening {
  const { request, route, translatedFrom } = exchange;
  const isRepeated =
    status === 200 &&
    translatedFrom === undefined &&
    route?.path === request.path &&
    route.method === request.method;
  if (!isRepeated) return { opening: makeOpening(exchange, status), code: "" };
  route.logged ??= { opening: flatText(makeOpening(exchange, status)), code: "" };
  return route.logged;
}

function makeOpening(exchange: Exchange, status: number): string {
  const { request, translatedFrom } = exchange;
  const method = quoted(translatedFrom ?? request.method);
  const path = quoted(exchange.conceal(request.path));
  return `,"method":${method},"path":${path},"status":${status},"duration_ms":`;
}
