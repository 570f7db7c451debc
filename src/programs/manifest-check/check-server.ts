/** Checks the server block: the operator, and the dates.   AGTP-API §8.3 */
import semver from "semver";
import type { DocumentPlace } from "../../base/document-place.ts";
import { describeValue, isRecord, quoteValue } from "../../base/json-value.ts";
import { readTimestamp } from "../../base/timestamp.ts";
import { type Catalog, FLOOR_METHODS, isMethodName } from "../../catalog/catalog.ts";
import { isFloorMethod, isHttpVerb, refuseName, warnOfOthers } from "./findings.ts";

const KNOWN = [
  ...["server_id", "domain", "operator", "contact", "supported_features"],
  ...["issued", "updated"],
];
/** A host, optionally with a port; no other part of a URI. */
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
  const issued = timeAt(server.at("issued"));
  const updated = timeAt(server.at("updated"));
  if (issued === undefined || updated === undefined) return;
  if (updated < issued) server.at("updated").fail("is before issued");
  // Clocks may differ by minutes, but not by more.
  if (updated > now + 300_000) server.at("updated").warn("is in the future");
}

/** Milliseconds since the epoch; reports a value that is not a point in time. */
function timeAt(place: DocumentPlace): number | undefined {
  const { value } = place;
  const time = typeof value === "string" ? readTimestamp(value) : undefined;
  return time ?? place.fail(`${describeValue(value)}, expected an ISO 8601 timestamp`);
}

const KNOWN_VERSION = "1.0";
const PROTOCOL_VERSION = /^\d+\.\d+(?:\.\d+)?$/;

/**
 * Checks the version fields at the top of a manifest; returns the catalog version.
 * AGTP-API §4.3, §4.8, §8.2, §13.1
 */
export function checkVersions(manifest: DocumentPlace): string | undefined {
  for (const name of ["agtp_version", "agtp_api_version"]) {
    const place = manifest.at(name);
    const version = place.text();
    if (version === undefined) continue;
    if (!PROTOCOL_VERSION.test(version)) {
      place.fail(`${quoteValue(version)} is no protocol version, expected one such as "1.0"`);
    } else if (version !== KNOWN_VERSION) {
      place.warn(`is ${quoteValue(version)}, and is judged as ${KNOWN_VERSION}`);
    }
  }
  manifest.at("document_version").text();
  return checkCatalogVersions(manifest);
}

function checkCatalogVersions(manifest: DocumentPlace): string | undefined {
  const version = readVersion(manifest.at("catalog_version"));
  const list = manifest.at("catalog_versions_supported");
  const supported = list.textItems();
  for (const place of supported) readVersion(place);
  if (!Array.isArray(list.value)) return version;
  if (version !== undefined && !list.value.includes(version)) {
    list.under("4.3").fail(`lacks the catalog_version, ${version}`);
  } else if (supported.length > 1) {
    list.under("4.8").fail(`has ${supported.length} versions, expected the catalog_version alone`);
  }
  return version;
}

function readVersion(place: DocumentPlace): string | undefined {
  const version = place.text();
  if (version === undefined) return undefined;
  // The library ignores a "v" and blanks, which are not part of a version.
  if (/^\d\S*$/.test(version) && semver.valid(version) !== null) return version;
  place.under("4.1").fail(`${quoteValue(version)} is no semantic version`);
  return undefined;
}

/**
 * Checks the inventory of methods: the complete floor, and the server's own, which are returned.
 * AGTP-API §3.2, §3.3, §8.4
 */
export function checkMethods(
  manifest: DocumentPlace,
  catalog: Catalog | undefined,
): readonly string[] {
  checkEmbedded(manifest.at("embedded_methods").under("8.4"));
  return checkCustom(manifest.at("custom_methods").under("8.4"), catalog);
}

function checkEmbedded(list: DocumentPlace): void {
  const names = new Set<string>();
  for (const entry of list.items() ?? []) {
    const name = nameOf(entry);
    if (name === undefined) continue;
    if (!isFloorMethod(name)) entry.fail(`${quoteValue(name)} is no floor method`);
    else if (names.has(name)) entry.fail(`${quoteValue(name)} is listed twice`);
    names.add(name);
  }
  const missing = FLOOR_METHODS.filter((name) => !names.has(name));
  if (Array.isArray(list.value) && missing.length > 0) list.fail(`lacks ${missing.join(", ")}`);
}

function checkCustom(list: DocumentPlace, catalog: Catalog | undefined): readonly string[] {
  if (list.isAbsent) return [];
  const names = new Set<string>();
  for (const entry of list.items() ?? []) {
    const name = nameOf(entry);
    if (name === undefined) continue;
    if (!isMethodName(name)) refuseName(entry, name);
    else if (isFloorMethod(name) || isHttpVerb(name)) {
      const what = isHttpVerb(name) ? "an HTTP verb" : "a floor method";
      entry.under("3.3").fail(`${quoteValue(name)} is ${what}, and no server's own`);
    } else if (names.has(name)) {
      entry.fail(`${quoteValue(name)} is listed twice`);
    } else if (catalog?.has(name)) {
      entry.under("3.3").warn(`${quoteValue(name)} is in the catalog ${catalog.version} as well`);
    }
    names.add(name);
  }
  return [...names];
}

/** The draft does not specify the form: a bare name, or an object with a name. */
function nameOf(entry: DocumentPlace): string | undefined {
  return isRecord(entry.value) ? entry.at("name").text() : entry.text();
}
