/** Timestamps of ISO 8601, in the profile that RFC 3339 makes of it. */

import type { DocumentPlace } from "../../base/document-place.ts";
import { describeValue } from "../../base/json-value.ts";

const TIMESTAMP =
  /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)$/i;

/** Milliseconds since 1970; a fault where the place has no point in time. */
export function readTimestamp(place: DocumentPlace): number | undefined {
  const { value } = place;
  const [, day] = typeof value === "string" ? (TIMESTAMP.exec(value) ?? []) : [];
  const time = typeof value === "string" && day !== undefined ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(time) && isDay(day ?? "")) return time;
  return place.fail(`${describeValue(value)}, expected an ISO 8601 timestamp`);
}

/** `Date.parse` takes a 30th of February for the 2nd of March. */
function isDay(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}
