/** The operational toggles, each of them, and the method policy.   AGTP-API §8.7, §9.2, §9.4 */
import type { DocumentPlace } from "../../base/document-place.ts";
import { describeValue, quoteValue } from "../../base/json-value.ts";
import { HTTP_VERBS, isMethodName } from "../../catalog/catalog.ts";
import { checkTemplate } from "../../catalog/path-grammar.ts";
import { warnOfOthers } from "./findings.ts";
import { isHttpVerb, type ManifestVocabulary } from "./vocabulary.ts";

const FLAGS = [
  "wildcards_accepted",
  "anonymous_discovery",
  "scope_required_for_invocation",
  "synthesis_enabled",
];
const KNOWN = [...FLAGS, "max_synthesis_depth", "methods"];

/** Checks the block, and the method policy in it. */
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
  const redirects = policy.at("redirects");
  for (const redirect of redirects.isAbsent ? [] : (redirects.items() ?? [])) {
    checkRedirect(redirect, vocabulary);
  }
}

function checkNames(list: DocumentPlace, expected: string, vocabulary: ManifestVocabulary): void {
  if (!Array.isArray(list.value)) {
    list.fail(`${describeValue(list.value)}, expected ${expected}`);
    return;
  }
  for (const entry of list.textItems()) checkName(entry, vocabulary);
}

/** The server skips names that the catalog does not have, so they should not be here. */
function checkName(entry: DocumentPlace, { catalog, custom }: ManifestVocabulary): void {
  const name = entry.text();
  if (name === undefined) return;
  if (!isMethodName(name)) {
    entry
      .under("3.2")
      .fail(`${quoteValue(name)} is no method name, expected 3 to 32 letters A to Z`);
  } else if (catalog !== undefined && !catalog.has(name) && !custom.has(name)) {
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

/** An alias resolves to a method in one hop. */
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
    const path = redirect.at(name).optional?.text();
    const fault = path === undefined ? undefined : checkTemplate(path, vocabulary.names);
    if (fault !== undefined) redirect.at(name).under("5.1").fail(fault.message);
  }
}
