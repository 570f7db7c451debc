/** DISCOVER /patterns: the recipes this server would negotiate against.   AGTP-API §5.8.6 */
import type { Recipe } from "../synthesis/recipe.ts";
import type { Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";

/** `{rcns_enabled, patterns}`; recipes without a pattern match nothing and are not listed. */
export function patternsBuiltin({ recipes }: Inventory): Builtin {
  const body = { rcns_enabled: false, patterns: recipes.flatMap(patternEntry) };
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
      ? { path_regex: textOf(pattern.pathRegex) }
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

/** As the recipe's author wrote it: JavaScript escapes slashes that need no escape elsewhere. */
function textOf(pattern: RegExp | undefined): string {
  if (pattern === undefined) return "^/";
  return pattern.source.replace(/\\(.)/gs, (pair, next: string) => (next === "/" ? next : pair));
}
