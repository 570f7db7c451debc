/**
 * Durations and times as callers write them: seconds, a number with a unit (`24h`, `7d`) or ISO
 * 8601 (`P7D`, `PT36H`); and an RFC 3339 timestamp, or a duration from now.   AGTP "PROPOSE",
 * "DELEGATE", "ESCALATE", "SUSPEND", "NOTIFY"
 */
import { readTimestamp } from "./timestamp.ts";

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };
const SHORT = /^(\d{1,9})\s*(s|m|h|d|w)$/i;
const ISO_8601 =
  /^P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9})S)?)?$/;

/** Returns the seconds of a requested duration; undefined if it is invalid. */
export function readDuration(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) && value > 0 ? value : undefined;
  if (typeof value !== "string") return undefined;
  const [, count, unit = ""] = SHORT.exec(value) ?? [];
  if (count !== undefined) return positive(Number(count) * (SECONDS[unit.toLowerCase()] ?? 0));
  const parts = ISO_8601.exec(value);
  if (parts === null) return undefined;
  const [, weeks, days, hours, minutes, seconds] = parts;
  const amounts = [weeks, days, hours, minutes, seconds].map((part) => Number(part ?? 0));
  const units = [604_800, 86_400, 3_600, 60, 1];
  return positive(amounts.reduce((sum, amount, index) => sum + amount * (units[index] ?? 0), 0));
}

function positive(seconds: number): number | undefined {
  return seconds > 0 ? seconds : undefined;
}

/** Limits a requested duration to whole seconds, at least one. */
export function grantDuration(
  requested: number | undefined,
  { usual, most }: { readonly usual: number; readonly most: number },
): number {
  return Math.max(1, Math.floor(Math.min(requested ?? usual, most)));
}

/** The accepted forms of a time, for messages. */
export const MOMENT_FORMS: string =
  "an RFC 3339 timestamp with its zone, or a duration such as PT1H, 24h or a number of seconds";

/** Reads a time, in milliseconds since the epoch; undefined if it is invalid. */
export function readMoment(written: unknown, now: number): number | undefined {
  const seconds = readDuration(written);
  if (seconds !== undefined) return now + seconds * 1000;
  return typeof written === "string" ? readTimestamp(written) : undefined;
}
