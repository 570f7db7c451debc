/**
 * The events of a run over HTTP: by long poll, as JSON, and as a stream. The parameters are checked before the media
 * type.   OpenWOP "rest-endpoints", "stream-modes"
 */
import { quoteValue } from "../../../base/json-value.ts";
import type { Redact } from "../runs/redact.ts";
import { isRefused, refuseRun } from "../runs/run.ts";
import type { RunLog } from "../runs/run-log.ts";
import { type ApiAnswer, answer, refuse, refuseAs, unauthenticated } from "./answer.ts";
import type { AnsweredRoute, ApiCall, ApiParameter, ApiParts, StreamRoute } from "./api-route.ts";
import { type EventStream, Frames, isShown, readModes, STREAM_MODES } from "./event-stream.ts";

const LAST_SEQUENCE: ApiParameter = {
  ...{ name: "lastSequence", in: "query", schema: { type: "integer", minimum: -1 } },
  description: "The last sequence that the caller has; without it, all events.",
};

/** The long poll. */
export const POLL_ROUTE: AnsweredRoute = {
  method: "GET",
  path: "/v1/runs/{runId}/events/poll",
  summary: "Read events behind a sequence, once there are any",
  scopes: ["runs:read"],
  parameters: [
    LAST_SEQUENCE,
    {
      ...{ name: "timeout", in: "query", schema: { type: "integer", minimum: 0 } },
      description: "How many seconds to wait for more; 30 unless told otherwise, at most 60.",
    },
  ],
  handle: poll,
};

/** The stream, unless the client accepts only JSON. */
export const STREAM_ROUTE: StreamRoute = {
  method: "GET",
  path: "/v1/runs/{runId}/events",
  summary: "Stream the events of a run, or read them as JSON",
  scopes: ["runs:read"],
  streams: "text/event-stream",
  parameters: [
    LAST_SEQUENCE,
    {
      ...{ name: "Last-Event-ID", in: "header", schema: { type: "string" } },
      description: "The last sequence that a listener has who comes back.",
    },
    {
      ...{ name: "streamMode", in: "query", schema: { type: "string", default: "updates" } },
      description: `${STREAM_MODES.join(", ")}; several behind commas, values alone.`,
    },
    {
      ...{ name: "bufferMs", in: "query", schema: { type: "integer", minimum: 0, maximum: 5000 } },
      description: "For how many milliseconds events are gathered into one batch.",
    },
  ],
};

async function poll(call: ApiCall): Promise<ApiAnswer> {
  const { parts, key, params, query, signal } = call;
  const after = readSequence(query["lastSequence"], "lastSequence", parts.redact);
  if (typeof after !== "number") return after;
  const { timeout } = query;
  const seconds = readNumber(timeout, DEFAULT_TIMEOUT_S);
  if (seconds === undefined) {
    return malformed("timeout", parts.redact(timeout), "a number of seconds");
  }
  const log = await parts.host.find(params["runId"] ?? "", call.caller);
  if (isRefused(log)) return refuseAs(log);
  const listening = parts.state.audience.enter(key);
  if (listening === undefined) return tooMany();
  try {
    const waitMs = Math.min(seconds, MAX_TIMEOUT_S) * 1000;
    const { signals = [], ...ends } = parts.host.whileServing(signal, waitMs);
    await log.changed(after, { ...ends, signals: [...signals, listening.ended] });
    return listening.ended.aborted ? unauthenticated() : answer(await log.page(after));
  } finally {
    listening.leave();
  }
}

/** An opened stream, and the release of its place in the audience. */
interface OpenedStream extends Omit<EventStream, "response" | "signal"> {
  leave(): void;
}

/** Opens a stream, or returns an answer instead: a refusal or, for JSON, the events as the poll returns them. */
export async function openStream(
  call: ApiCall,
  isJsonOnly: boolean,
): Promise<OpenedStream | ApiAnswer> {
  const { parts, key, params, query } = call;
  const modes = readModes(query["streamMode"]);
  if ("status" in modes) return modes;
  const bufferMs = readNumber(query["bufferMs"], 0);
  if (bufferMs === undefined || bufferMs > MAX_BUFFER_MS) {
    const expected = `milliseconds from 0 to ${MAX_BUFFER_MS}`;
    return malformed("bufferMs", parts.redact(query["bufferMs"]), expected);
  }
  const lastEventId = call.header("last-event-id");
  const asked = readSequence(lastEventId ?? query["lastSequence"], "Last-Event-ID", parts.redact);
  if (typeof asked !== "number") return asked;
  const log = await parts.host.find(params["runId"] ?? "", call.caller);
  if (isRefused(log)) return refuseAs(log);
  const after = await knownSequence(log, asked, parts);
  if (isJsonOnly || wantsJson(call)) {
    if (query["streamMode"] === undefined) return answer(await log.page(after));
    return answer(await log.page(after, (event) => isShown(event, modes)));
  }
  const listening = parts.state.audience.enter(key);
  if (listening === undefined) return tooMany();
  const frames = new Frames(log.run, modes);
  const isResumed = lastEventId !== undefined;
  return { host: parts.host, log, frames, after, isResumed, bufferMs, ...listening };
}

/**
 * The listener's sequence, at most the run's last. Another node may have sent later events, so the log catches up
 * first.
 */
async function knownSequence(log: RunLog, asked: number, { view }: ApiParts): Promise<number> {
  if (asked < log.state.nextSequence) return asked;
  await view.catchUp?.();
  await log.catchUp();
  return Math.min(asked, log.state.nextSequence - 1);
}

/** A client that also accepts a stream is sent the stream. */
function wantsJson(call: ApiCall): boolean {
  const accept = (call.header("accept") ?? "").toLowerCase();
  return accept.includes("application/json") && !accept.includes("text/event-stream");
}

function tooMany(): ApiAnswer {
  const details = { scope: "tenant", retryAfterMs: 1000 };
  return refuseAs(refuseRun("rate_limited", "too many listen to runs at once", details));
}

const MAX_SEQUENCE = 99_999_999;
const DEFAULT_TIMEOUT_S = 30;
const MAX_TIMEOUT_S = 60;
const MAX_BUFFER_MS = 5000;

/** The caller's last sequence; -1 if not given.   OpenWOP "stream-modes" */
function readSequence(value: unknown, name: string, redact: Redact): number | ApiAnswer {
  const sequence = readNumber(value, -1, /^(?:-1|\d{1,15})$/);
  return sequence === undefined
    ? malformed(name, redact(value), "a sequence")
    : Math.min(sequence, MAX_SEQUENCE);
}

/** The number in a parameter, `absent` if not given; undefined if malformed. */
function readNumber(value: unknown, absent: number, form = /^\d{1,9}$/): number | undefined {
  if (value === undefined) return absent;
  return typeof value === "string" && form.test(value) ? Number(value) : undefined;
}

function malformed(name: string, value: unknown, expected: string): ApiAnswer {
  return refuse(400, "validation_error", `${name} is ${quoteValue(value)}, expected ${expected}`);
}
