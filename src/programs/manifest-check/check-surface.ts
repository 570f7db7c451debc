/** The HTTP APIs that a server fronts, and the protocols that it hosts.   AGTP-API §8.6 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { quoteValue } from "../../base/json-value.ts";
import { checkTemplate } from "../../catalog/path-grammar.ts";
import { type ManifestVocabulary, readMethod } from "./vocabulary.ts";

const URL_MEMBERS = ["base_url", "http_documentation", "url"];

/** Checks both lists, each of which may be absent. */
export function checkSurface(
  manifest: DocumentPlace,
  vocabulary: ManifestVocabulary,
  pairs: ReadonlySet<string>,
): void {
  const apis = manifest.at("apis").under("8.6");
  for (const api of apis.isAbsent ? [] : (apis.items() ?? [])) checkApi(api);
  const protocols = manifest.at("hosted_protocols").under("8.6");
  for (const entry of protocols.isAbsent ? [] : (protocols.items() ?? [])) {
    checkProtocol(entry, vocabulary, pairs);
  }
}

function checkApi(api: DocumentPlace): void {
  if (api.record() === undefined) return;
  api.at("name").optional?.text();
  for (const name of URL_MEMBERS) {
    const place = api.at(name);
    const text = place.optional?.text();
    if (text === undefined || isHttpUrl(text)) continue;
    place.fail(`is ${quoteValue(text)}, expected an HTTP URL`);
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function checkProtocol(
  entry: DocumentPlace,
  vocabulary: ManifestVocabulary,
  pairs: ReadonlySet<string>,
): void {
  if (entry.record() === undefined) return;
  // The draft says "the protocol name" and shows no member for it.
  const named = entry.at("protocol").isAbsent ? entry.at("name") : entry.at("protocol");
  (named.isAbsent ? entry.at("protocol") : named).text();
  const method = readMethod(entry.at("method"), vocabulary);
  const path = entry.at("path").text();
  if (path === undefined) return;
  const fault = checkTemplate(path, vocabulary.names);
  if (fault !== undefined) entry.at("path").under("5.1").fail(fault.message);
  else if (method !== undefined && !pairs.has(`${method} ${path}`)) {
    entry.warn(`${method} ${path} is not among the endpoints`);
  }
}
