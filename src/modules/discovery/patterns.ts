/** DISCOVER /patterns: the recipes this server would negotiate against.   AGTP-API §5.8.6 */
import { shareBody } from "../../base/shared-body.ts";
import { patternEntry } from "../../endpoint/pattern-entry.ts";
import type { Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";

/** `{rcns_enabled, patterns}`; recipes without a pattern match nothing and are not listed. */
export function patternsBuiltin({ recipes, isNegotiating }: Inventory): Builtin {
  const patterns = recipes.flatMap((recipe) => patternEntry(recipe) ?? []);
  const body = shareBody({ rcns_enabled: isNegotiating, patterns });
  return {
    name: "patterns",
    description: "Lists the synthesis patterns this server negotiates against.",
    outputSchema: { type: "object", required: ["rcns_enabled", "patterns"] },
    handler: () => ({ body }),
  };
}
