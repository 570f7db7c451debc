/**
 * The aliases that a server has when its operator writes none are the catalog's own: another mapping
 * of an HTTP verb there changes what existing callers reach.   AGTP-API §3.6, §9.2
 */
import { isTable } from "../../base/toml-document.ts";
import type { Conflict } from "./conflict.ts";
import type { CatalogStep } from "./method-judge.ts";
import type { Reference, References } from "./reference.ts";

/** One conflict for each verb that is dispatched differently. */
export function aliasSeedConflicts(
  { config }: References,
  { older, newer }: CatalogStep,
): readonly Conflict[] {
  if (config === undefined) return [];
  const { policies } = config.table;
  const methods = isTable(policies) ? policies["methods"] : undefined;
  if (isTable(methods) && "aliases" in methods) return [];
  return [...older.legacy].flatMap(([verb, { preferred }]): readonly Conflict[] => {
    const now = newer.legacy.get(verb)?.preferred;
    if (now === preferred) return [];
    const reference: Reference = {
      source: config,
      key: "policies.methods.aliases",
      role: "alias-seed",
      value: preferred,
      isWritten: false,
      within: {},
    };
    const becomes = now === undefined ? "is no alias" : `is dispatched as ${now}`;
    return [
      {
        group: "policy",
        effect: "changes-meaning",
        reference,
        method: verb,
        message: `${verb} ${becomes} instead of ${preferred}, because the catalog's seed changed and [policies.methods.aliases] is not written`,
        remedy: `write the table, with ${verb} = "${newer.has(preferred) ? preferred : (now ?? preferred)}"`,
      },
    ];
  });
}
