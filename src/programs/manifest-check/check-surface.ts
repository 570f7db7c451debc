/**
 * Checks the remaining parts of a manifest: HTTP APIs, hosted protocols, hosted agents, the
 * operational toggles and the method policy.   AGTP-API §8.5, §8.6, §8.7, §9.2, §9.4
 */
import type { DocumentPlace } from "../../base/document-place.ts";
import { describeValue, isRecord, quoteValue } from "../../base/json-value.ts";
import { HTTP_VERBS, isMethodName } from "../../catalog/catalog.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import {
  isHttpVerb,
  type ManifestVocabulary,
  readMethod,
  readTemplate,
  refuseName,
  warnOfOthers,
} from "./findings.ts";

const URL_MEMBERS = ["base_url", "http_documentation", "url"];

/** Checks both lists; either may be absent. */
export function checkSurface(
  manifest: DocumentPlace,
  vocabulary: ManifestVocabulary,
  pairs: ReadonlySet<string>,
): void {
  const apis = manifest.at("apis").under("8.6").optional;
  for (const api of apis?.items() ?? []) checkApi(api);
  const protocols = manifest.at("hosted_protocols").under("8.6").optional;
  for (const entry of protocols?.items() ?? []) checkProtocol(entry, vocabulary, pairs);
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
  // The draft mentions "the protocol name" without naming the member.
  const named = entry.at("protocol").isAbsent ? entry.at("name") : entry.at("protocol");
  (named.isAbsent ? entry.at("protocol") : named).text();
  const method = readMethod(entry.at("method"), vocabulary);
  const path = readTemplate(entry.at("path"), vocabulary);
  if (path === undefined || method === undefined || pairs.has(`${method} ${path}`)) return;
  entry.warn(`${method} ${path} is not among the endpoints`);
}

const DISCLOSURES = ["public", "authenticated", "private"] as const;

/**
 * Checks the hosted agents and their visibility; `isAnonymous` if the manifest was served to an
 * unknown caller.   AGTP-API §8.5
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

/** Checks an entry's common members; the format is the operator's choice. */
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

const FLAGS = [
  "wildcards_accepted",
  "anonymous_discovery",
  "scope_required_for_invocation",
  "synthesis_enabled",
];
const KNOWN = [...FLAGS, "max_synthesis_depth", "methods"];

/** Checks the policies block, including the method policy. */
export function checkPolicies(policies: DocumentPlace, vocabulary: ManifestVocabulary): void {
  if (policies.record() === undefined) return;
  warnOfOthers(policies, KNOWN);
  for (const name of FLAGS) policies.at(name).flag();
  const depth = policies.at("max_synthesis_depth");
  if (!Number.isSafeInteger(depth.value) || Number(depth.value) < 1) {
    depth.fail(`${describeValue(depth.value)}, expected a positive integer`);
  }
  const methods = policies.at("methods").under("9.2");
  if (!methods.isAbsent) checkMethodPolicy(methods, vocabulary);
}

const POLICY_FIELDS = ["allow", "disallow", "legacy", "aliases", "redirects", "custom"];

/** Checks the method policy; every field may be absent.   AGTP-API §9.2, §9.4 */
function checkMethodPolicy(policy: DocumentPlace, vocabulary: ManifestVocabulary): void {
  if (policy.record() === undefined) return;
  warnOfOthers(policy, POLICY_FIELDS);
  const allow = policy.at("allow");
  if (!allow.isAbsent && allow.value !== "*") checkNames(allow, '"*" or an array', vocabulary);
  const disallow = policy.at("disallow");
  if (!disallow.isAbsent) checkNames(disallow, "an array", vocabulary);
  checkLegacy(policy.at("legacy"));
  checkAliases(policy.at("aliases"), vocabulary);
  const redirects = policy.at("redirects").optional;
  for (const redirect of redirects?.items() ?? []) checkRedirect(redirect, vocabulary);
}

function checkNames(list: DocumentPlace, expected: string, vocabulary: ManifestVocabulary): void {
  if (!Array.isArray(list.value)) {
    list.fail(`${describeValue(list.value)}, expected ${expected}`);
    return;
  }
  for (const entry of list.textItems()) checkName(entry, vocabulary);
}

/** Servers skip names that the catalog lacks, so a manifest should not list them. */
function checkName(entry: DocumentPlace, { catalog, custom }: ManifestVocabulary): void {
  const name = entry.text();
  if (name === undefined) return;
  if (!isMethodName(name)) refuseName(entry, name);
  else if (catalog !== undefined && !catalog.has(name) && !custom.has(name)) {
    if (isHttpVerb(name)) return;
    entry.under("9.4").warn(`${quoteValue(name)} is not in the catalog, so it has no effect`);
  }
}

function checkLegacy(legacy: DocumentPlace): void {
  const { value } = legacy;
  if (legacy.isAbsent || value === "*" || value === "NONE") return;
  if (!Array.isArray(value)) {
    legacy.fail(`${describeValue(value)}, expected "*", "NONE" or an array`);
    return;
  }
  for (const entry of legacy.textItems()) {
    if (isHttpVerb(String(entry.value))) continue;
    const expected = `expected one of ${HTTP_VERBS.join(", ")}`;
    entry.under("9.4").fail(`${quoteValue(entry.value)} is no legacy verb, ${expected}`);
  }
}

/** Checks that each alias resolves to a method in one hop. */
function checkAliases(aliases: DocumentPlace, vocabulary: ManifestVocabulary): void {
  if (aliases.isAbsent || aliases.record() === undefined) return;
  for (const name of aliases.names) {
    const alias = aliases.at(name);
    const method = alias.text();
    if (method === undefined) continue;
    if (!aliases.at(method).isAbsent) {
      alias.fail(`${quoteValue(method)} is an alias itself, and aliases must not chain`);
    } else checkName(alias, vocabulary);
  }
}

function checkRedirect(redirect: DocumentPlace, vocabulary: ManifestVocabulary): void {
  if (redirect.record() === undefined) return;
  warnOfOthers(redirect, ["from_method", "from_path", "to_method", "to_path"]);
  for (const name of ["from_method", "to_method"]) {
    if (redirect.at(name).isAbsent) redirect.at(name).fail("is missing, expected a method");
    else checkName(redirect.at(name), vocabulary);
  }
  for (const name of ["from_path", "to_path"]) {
    readTemplate(redirect.at(name).optional, vocabulary);
  }
}
