/** Reads `required_scopes`, of an endpoint or a recipe.   AGTP-API §6.4, AGTP "Authority-Scope" */
import { isScopeToken } from "../identity/authority-scope.ts";
import { quoteValue } from "../json-value.ts";
import type { TableReader } from "./table-reader.ts";

/** The scopes; empty when the table names none. */
export function readRequiredScopes(table: TableReader): readonly string[] {
  const scopes = table.texts("required_scopes");
  for (const scope of scopes) {
    if (isScopeToken(scope)) continue;
    const expected = 'expected two or more segments, as in "booking:room"';
    table.fail("required_scopes", `${quoteValue(scope)} is no scope, ${expected}`);
  }
  return scopes;
}

/** Makes equal lists the same one, so that endpoints which ask for the same scopes share it. */
export function createScopePool(): (scopes: readonly string[]) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (scopes) => {
    const key = scopes.join(" ");
    const shared = known.get(key) ?? scopes;
    known.set(key, shared);
    return shared;
  };
}
