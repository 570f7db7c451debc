/** The operational toggles, each of them.   AGTP-API §8.7 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { describeValue } from "../../base/json-value.ts";
import { checkMethodPolicy } from "./check-method-policy.ts";
import { warnOfOthers } from "./manifest-place.ts";
import type { ManifestVocabulary } from "./vocabulary.ts";

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
