/**
 * A moment as a caller writes it: an RFC 3339 timestamp, or how long from now, in the words of a
 * contract's duration.   AGTP "DELEGATE", "ESCALATE", "SUSPEND", "NOTIFY"
 */
import { readDuration } from "./duration.ts";

const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/i;

/** The accepted forms of a moment, for messages. */
export const MOMENT_FORMS: string =
  "an RFC 3339 timestamp with its zone, or a duration such as PT1H, 24h or a number of seconds";

/** Milliseconds since the epoch; undefined for what is no moment. */
export function readMoment(written: unknown, now: number): number | undefined {
  const seconds = readDuration(written);
  if (seconds !== undefined) return now + seconds * 1000;
  if (typeof written !== "string") return undefined;
  const [, year, month, day, hour] = TIMESTAMP.exec(written) ?? [];
  // Date.parse takes the 31st of February for a day in March, and hour 24 for the next day.
  if (Number(day) > daysIn(Number(year), Number(month)) || Number(hour) > 23) return undefined;
  const at = year === undefined ? Number.NaN : Date.parse(written.toUpperCase());
  return Number.isNaN(at) ? undefined : at;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}
