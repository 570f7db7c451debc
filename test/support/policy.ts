/** Method policies over the small catalog. */

import type { Problem } from "../../src/base/problem.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { compileMethodPolicy, type MethodPolicy } from "../../src/dispatch/policy/method-policy.ts";
import type { MethodPolicyConfig } from "../../src/dispatch/policy/policies-section.ts";
import { smallCatalog, smallVocabulary } from "./vocabulary.ts";

const DEFAULTS: MethodPolicyConfig = {
  allow: "*",
  disallow: [],
  legacy: "NONE",
  custom: ["FROBNICATE"],
  redirects: [],
};

/** The policy that a configuration compiles to, with what is wrong with it. */
export function compilePolicy(
  config: Partial<MethodPolicyConfig> = {},
  catalog: Catalog = smallCatalog(),
): {
  readonly policy: MethodPolicy;
  readonly problems: readonly Problem[];
} {
  const { names } = smallVocabulary();
  const file = "agtp-server.toml";
  return compileMethodPolicy({
    config: { ...DEFAULTS, ...config },
    ...{ catalog, names, file },
  });
}

/** A policy without problems. */
export function makePolicy(
  config: Partial<MethodPolicyConfig> = {},
  catalog?: Catalog,
): MethodPolicy {
  const { policy, problems } = compilePolicy(config, catalog);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return policy;
}
