/**
 * The rest that a manifest tells of a server: HTTP APIs, hosted protocols, hosted agents.
 * AGTP-API §8.5, §8.6
 */
import type { DocumentPlace } from "../../base/document-place.ts";
import { isRecord, quoteValue } from "../../base/json-value.ts";
import { checkTemplate } from "../../catalog/path-grammar.ts";
import { isAgentId } from "../../identity/identifiers.ts";
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

const DISCLOSURES = ["public", "authenticated", "private"] as const;

/**
 * Checks hosted agents, and who may see them; `isAnonymous` where the manifest was given to
 * somebody unknown.   AGTP-API §8.5
 */
export function checkAgents(manifest: DocumentPlace, isAnonymous: boolean): void {
  const disclosure = manifest.at("agent_disclosure").under("8.5").word(DISCLOSURES);
  manifest.at("agent_disclosure_notice").under("8.5").optional?.text();
  const list = manifest.at("hosted_agents").under("8.5");
  const agents = list.items() ?? [];
  if (agents.length > 0 && disclosure === "private") {
    list.fail(`has ${agents.length} agents, expected none under "private"`);
  }
  if (agents.length > 0 && disclosure === "authenticated" && isAnonymous) {
    list.fail(`has ${agents.length} agents, expected none for a caller without an identity`);
  }
  const seen = new Set<unknown>();
  for (const agent of agents) checkAgent(agent, seen);
}

/** Checks an entry as far as typical entries go: its format is the operator's. */
function checkAgent(agent: DocumentPlace, seen: Set<unknown>): void {
  const { value } = agent;
  if (!isRecord(value) && typeof value !== "string") {
    agent.fail(`is ${quoteValue(value)}, expected a reference to an agent`);
    return;
  }
  const id = isRecord(value) ? agent.at("agent_id") : agent;
  if (id.isAbsent) {
    agent.warn("has no agent_id");
    return;
  }
  if (typeof id.value !== "string" || !isAgentId(id.value)) {
    id.warn(`is ${quoteValue(id.value)}, expected 64 lower-case hexadecimal digits`);
  } else if (seen.has(id.value)) id.fail("is listed twice");
  seen.add(id.value);
}
