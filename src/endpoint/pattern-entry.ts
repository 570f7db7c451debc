/** A recipe's pattern as DISCOVER /patterns lists it.   AGTP-API §5.8.6 */
import type { Recipe } from "./recipe.ts";

/** Undefined for a recipe without a pattern, which matches nothing. */
export function patternEntry(recipe: Recipe): Readonly<Record<string, unknown>> | undefined {
  const { pattern } = recipe;
  if (pattern === undefined) return undefined;
  const path =
    pattern.pathExact === undefined
      ? { path_regex: pattern.pathRegex?.source ?? "^/" }
      : { path_exact: pattern.pathExact };
  return {
    recipe_name: recipe.name,
    recipe_version: recipe.version,
    method: pattern.methodExact,
    ...path,
    description: recipe.description,
    required_scopes: recipe.requiredScopes,
    ...(pattern.hasParameters.length === 0 ? {} : { has_parameters: pattern.hasParameters }),
  };
}
