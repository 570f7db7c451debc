/** The method policy as the manifest shows it.   AGTP-API §9.2, §9.4 */

import { describeValue, isRecord, quoteValue } from "../../base/json-value.ts";
import { HTTP_VERBS, isMethodName } from "../../catalog/catalog.ts";
import { checkTemplate } from "../../catalog/path-grammar.ts";
import type { Place } from "./place.ts";
import { isHttpVerb, type ManifestVocabulary } from "./vocabulary.ts";

const KNOWN = ["allow", "disallow", "legacy", "aliases", "redirects", "custom"];

/** Checks a policy; every field may be absent. */
export function checkMethodPolicy(policy: Place, vocabulary: ManifestVocabulary): void {
  if (policy.record() === undefined) return;
  policy.warnOfOthers(KNOWN);
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

function checkNames(list: Place, expected: string, vocabulary: ManifestVocabulary): void {
  if (!Array.isArray(list.value)) {
    list.fault(`${describeValue(list.value)}, expected ${expected}`);
    return;
  }
  for (const entry of list.texts()) checkName(entry, vocabulary);
}

/** What the catalog does not have is skipped by the server, and so should not be here. */
function checkName(entry: Place, { catalog, custom }: ManifestVocabulary): void {
  const name = entry.text();
  if (name === undefined) return;
  if (!isMethodName(name)) {
    entry
      .under("3.2")
      .fault(`${quoteValue(name)} is no method name, expected 3 to 32 letters A to Z`);
  } else if (catalog !== undefined && !catalog.has(name) && !custom.has(name)) {
    if (isHttpVerb(name)) return;
    entry.under("9.4").warn(`${quoteValue(name)} is not in the catalog, so it has no effect`);
  }
}

function checkLegacy(legacy: Place): void {
  const { value } = legacy;
  if (legacy.isAbsent || value === "*" || value === "NONE") return;
  if (!Array.isArray(value)) {
    legacy.fault(`${describeValue(value)}, expected "*", "NONE" or an array`);
    return;
  }
  for (const entry of legacy.texts()) {
    if (isHttpVerb(String(entry.value))) continue;
    const expected = `expected one of ${HTTP_VERBS.join(", ")}`;
    entry.under("9.4").fault(`${quoteValue(entry.value)} is no legacy verb, ${expected}`);
  }
}

/** An alias resolves to a method in one hop. */
function checkAliases(aliases: Place, vocabulary: ManifestVocabulary): void {
  if (aliases.isAbsent || aliases.record() === undefined) return;
  for (const name of Object.keys(isRecord(aliases.value) ? aliases.value : {})) {
    const alias = aliases.at(name);
    const method = alias.text();
    if (method === undefined) continue;
    if (!aliases.at(method).isAbsent) {
      alias.fault(`${quoteValue(method)} is an alias itself, and aliases must not chain`);
    } else checkName(alias, vocabulary);
  }
}

function checkRedirect(redirect: Place, vocabulary: ManifestVocabulary): void {
  if (redirect.record() === undefined) return;
  redirect.warnOfOthers(["from_method", "from_path", "to_method", "to_path"]);
  for (const name of ["from_method", "to_method"]) {
    if (redirect.at(name).isAbsent) redirect.at(name).fault("is missing, expected a method");
    else checkName(redirect.at(name), vocabulary);
  }
  for (const name of ["from_path", "to_path"]) {
    const path = redirect.at(name).optionalText();
    const fault = path === undefined ? undefined : checkTemplate(path, vocabulary.names);
    if (fault !== undefined) redirect.at(name).under("5.1").fault(fault.message);
  }
}
