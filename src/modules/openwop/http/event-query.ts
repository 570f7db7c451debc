/**
 * Questions about a run's events, read from a query and a header.   OpenWOP "rest-endpoints",
 * "stream-modes"
 */
import { quoteValue } from "../../../base/json-value.ts";
import type { Redact } from "../runs/run-log.ts";
import { type ApiAnswer, refuse } from "./answer.ts";

const MAX_SEQUENCE = 99_999_999;
const DEFAULT_TIMEOUT_S = 30;
const MAX_TIMEOUT_S = 60;
const MAX_BUFFER_MS = 5000;

/** The sequence that the caller has; -1 when it has none. */
export function readSequence(value: unknown, name: string, redact: Redact): number | ApiAnswer {
  if (value === undefined) return -1;
  const isNumber = typeof value === "string" && /^(?:-1|\d{1,15})$/.test(value);
  return isNumber
    ? Math.min(Number(value), MAX_SEQUENCE)
    : malformed(name, redact(value), "a sequence");
}

/** How long a poll waits, in milliseconds; 0 not at all. */
export function readTimeout(value: unknown, redact: Redact): number | ApiAnswer {
  if (value === undefined) return DEFAULT_TIMEOUT_S * 1000;
  const seconds = typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
  if (seconds === undefined) return malformed("timeout", redact(value), "a number of seconds");
  return Math.min(seconds, MAX_TIMEOUT_S) * 1000;
}

/** How long events are gathered, in milliseconds. */
export function readBuffer(value: unknown, redact: Redact): number | ApiAnswer {
  if (value === undefined) return 0;
  const ms = typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
  if (ms !== undefined && ms <= MAX_BUFFER_MS) return ms;
  return malformed("bufferMs", redact(value), `milliseconds from 0 to ${MAX_BUFFER_MS}`);
}

function malformed(name: string, value: unknown, expected: string): ApiAnswer {
  return refuse(400, "validation_error", `${name} is ${quoteValue(value)}, expected ${expected}`);
}
