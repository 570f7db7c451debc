/** DISCOVER /patterns: the recipes this server would negotiate against.   AGTP-API §5.8.6 */
import type { Recipe } from "../synthesis/recipe.ts";
import type { Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";

/** `{rcns_enabled, patterns}`; recipes without a pattern match nothing and are not listed. */
export function patternsBuiltin({ recipes, isNegotiating }: Inventory): Builtin {
  const body = { rcns_enabled: isNegotiating, patterns: recipes.flatMap(patternEntry) };
  return {
    name: "patterns",
    description: "Lists the synthesis patterns this server negotiates against.",
    outputSchema: { type: "object", required: ["rcns_enabled", "patterns"] },
    handler: () => ({ body }),
  };
}

function patternEntry(recipe: Recipe): readonly Record<string, unknown>[] {
  const { pattern } = recipe;
  if (pattern === undefined) return [];
  const path =
    pattern.pathExact === undefined
      ? { path_regex: pattern.pathRegex?.source ?? "^/" }
      : { path_exact: pattern.pathExact };
  return [
    {
      recipe_name: recipe.name,
      recipe_version: recipe.version,
      method: pattern.methodExact,
      ...path,
      description: recipe.description,
      required_scopes: recipe.requiredScopes,
      ...(pattern.hasParameters.length === 0 ? {} : { has_parameters: pattern.hasParameters }),
    },
  ];
}
