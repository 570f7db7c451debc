/** The server block: who operates the server, and since when.   AGTP-API §8.3 */
import type { DocumentPlace } from "../../base/document-place.ts";
import { describeValue, quoteValue } from "../../base/json-value.ts";
import { warnOfOthers } from "./manifest-place.ts";

const KNOWN = [
  ...["server_id", "domain", "operator", "contact", "supported_features"],
  ...["issued", "updated"],
];
/** A host, perhaps with a port; nothing that a URI would have around it. */
const DOMAIN = /^[^\s/?#@]{1,261}$/;
const EMAIL = /^(?:mailto:)?[^\s@<>]{1,64}@[^\s@<>]{1,255}$/;

/** Checks the block. */
export function checkServer(server: DocumentPlace, now: number): void {
  if (server.record() === undefined) return;
  warnOfOthers(server, KNOWN);
  server.at("server_id").text();
  checkForm(server.at("domain"), DOMAIN, "a host");
  for (const name of ["operator", "contact"]) {
    if (server.at(name).isAbsent) server.at(name).warn("is missing, so nobody knows whom to ask");
  }
  server.at("operator").optional?.text();
  checkForm(server.at("contact"), EMAIL, "an email address");
  const features = server.at("supported_features");
  if (features.isAbsent) features.warn("is missing, expected an array of feature tokens");
  else features.textItems();
  checkTimes(server, now);
}

function checkForm(place: DocumentPlace, form: RegExp, expected: string): void {
  const text = place.optional?.text();
  if (text !== undefined && !form.test(text)) {
    place.fail(`is ${quoteValue(text)}, expected ${expected}`);
  }
}

function checkTimes(server: DocumentPlace, now: number): void {
  const issued = readTimestamp(server.at("issued"));
  const updated = readTimestamp(server.at("updated"));
  if (issued === undefined || updated === undefined) return;
  if (updated < issued) server.at("updated").fail("is before issued");
  // Clocks differ by minutes; a manifest of tomorrow is none.
  if (updated > now + 300_000) server.at("updated").warn("is in the future");
}

const TIMESTAMP =
  /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)$/i;

/** Milliseconds since 1970 of an RFC 3339 time; a fault where the place has none. */
function readTimestamp(place: DocumentPlace): number | undefined {
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
