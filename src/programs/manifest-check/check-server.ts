/** The server block: who operates the server, and since when.   AGTP-API §8.3 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { quoteValue } from "../../base/json-value.ts";
import { warnOfOthers } from "./manifest-place.ts";
import { readTimestamp } from "./timestamp.ts";

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
