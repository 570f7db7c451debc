/**
 * A recipe as something that can be found: a pair that is not registered, and that a contract can be
 * had for. Recipes without a pattern match nothing and are not shown.   AGTP-API §5.8.6
 */

import { patternEntry } from "../../endpoint/pattern-entry.ts";
import type { Recipe } from "../../endpoint/recipe.ts";
import type { Asker, SearchEntry } from "./entry.ts";

/** The scope that negotiating at the gate takes.   AGTP-API §10.1.1 */
const NEGOTIATE = "rcns:negotiate";

export interface RecipeEntryOptions {
  /** True if PROPOSE may make contracts. */
  readonly isSynthesizing: boolean;
  /** True if the gate negotiates. */
  readonly isNegotiating: boolean;
  isAllowed(method: string): boolean;
}

/** The entry of a recipe, if it matches anything that may be asked for. */
export function recipeEntry(options: RecipeEntryOptions, recipe: Recipe): readonly SearchEntry[] {
  const { pattern, semantic, description, name, version } = recipe;
  if (pattern === undefined || !options.isAllowed(pattern.methodExact)) return [];
  const path = pattern.pathExact ?? pattern.pathRegex?.source ?? "";
  return [
    {
      kind: "recipe",
      id: `${name}@${version}`,
      texts: {
        name: `${name} ${pattern.methodExact} ${path}`,
        ...(semantic === undefined ? {} : { intent: semantic.intent, outcome: semantic.outcome }),
        description,
        members: pattern.hasParameters.join(" "),
        tags: recipe.requiredScopes.join(" "),
      },
      facets: {
        method: pattern.methodExact,
        requiredScopes: recipe.requiredScopes,
        ...(pattern.pathExact === undefined ? {} : { path: pattern.pathExact }),
        ...(semantic === undefined
          ? {}
          : { capability: semantic.capability, impact: semantic.impact, actor: semantic.actor }),
      },
      prominence: 0.8,
      isVisibleTo: () => true,
      show: (asker, format) => {
        const entry = patternEntry(recipe);
        if (format === "raw") return entry;
        const ways = waysOf(options, asker);
        if (format === "natural") return inWords(recipe, pattern.methodExact, path, ways);
        const missing = recipe.requiredScopes.filter(
          (scope) => !asker.caller.authority.covers(scope),
        );
        return {
          ...entry,
          ...(semantic === undefined ? {} : { semantic }),
          missing_scopes: missing,
          negotiable_by: ways,
        };
      },
    },
  ];
}

/** The way in which this caller can come by a contract. */
function waysOf(
  { isSynthesizing, isNegotiating }: RecipeEntryOptions,
  { caller }: Asker,
): readonly string[] {
  if (caller.agentId === undefined) return [];
  return [
    ...(isSynthesizing ? ["PROPOSE"] : []),
    ...(isNegotiating && caller.authority.covers(NEGOTIATE) ? ["Allow-RCNS"] : []),
  ];
}

function inWords(
  { name, version, description, requiredScopes }: Recipe,
  method: string,
  path: string,
  ways: readonly string[],
): string {
  const needs = requiredScopes.length === 0 ? "" : ` It needs ${requiredScopes.join(", ")}.`;
  const how =
    ways.length === 0 ? "You cannot negotiate it as you are." : `By ${ways.join(" or ")}.`;
  return `Recipe ${name} ${version}, for ${method} ${path}: ${description}${needs} ${how}`;
}
