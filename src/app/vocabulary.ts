/** The catalog and the method policy of a deployment, which everything else is judged by.   AGTP-API §9 */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { isError, type Problem } from "../base/problem.ts";
import { loadCatalog, shippedCatalogPath } from "../catalog/catalog-file.ts";
import { methodNames } from "../catalog/path-grammar.ts";
import type { Vocabulary } from "../dispatch/module/module.ts";
import { compileMethodPolicy, type MethodPolicy } from "../dispatch/policy/method-policy.ts";
import type { Config } from "./config/config.ts";

/** Loads both; undefined when a problem in them stops the start. */
export function loadVocabulary(config: Config, problems: Problem[]): Vocabulary | undefined {
  const { vocabulary, isSound } = readVocabulary(config, problems);
  return isSound ? vocabulary : undefined;
}

/** Loads both as far as that goes. */
export function readVocabulary(
  config: Config,
  problems: Problem[],
): { readonly vocabulary: Vocabulary | undefined; readonly isSound: boolean } {
  // The configuration let a missing file pass only where the operator named none.
  const path = existsSync(config.catalog.file) ? config.catalog.file : shippedCatalogPath();
  const loaded = loadCatalog(path, relative(config.directory, path));
  problems.push(...loaded.problems);
  const { catalog } = loaded;
  if (catalog === undefined || loaded.problems.some(isError)) {
    return { vocabulary: undefined, isSound: false };
  }
  const names = methodNames(catalog, config.policies.methods.custom);
  const file = relative(config.directory, config.file);
  const compiled = compileMethodPolicy({ config: config.policies.methods, catalog, names, file });
  problems.push(...compiled.problems, ...checkTokenMethods(config, compiled.policy, file));
  const vocabulary = { catalog, names, methodPolicy: compiled.policy };
  return { vocabulary, isSound: !compiled.problems.some(isError) };
}

/** A name that is never judged leaves a method unprotected that the operator meant. */
function checkTokenMethods(
  { policies: { oauth } }: Config,
  policy: MethodPolicy,
  file: string,
): readonly Problem[] {
  return (oauth?.requiredOnMethods ?? []).flatMap((name, index) => {
    const reason = uselessFor(name, policy);
    if (reason === undefined) return [];
    const key = `policies.oauth.required_on_methods[${index}]`;
    return [{ file, key, message: `"${name}" has no effect: ${reason}`, severity: "warning" }];
  });
}

function uselessFor(name: string, policy: MethodPolicy): string | undefined {
  const alias = policy.alias(name)?.method;
  if (alias !== undefined) return `it is an alias, and judged as "${alias}"`;
  return policy.isKnown(name) ? undefined : "it is no method of this server";
}
