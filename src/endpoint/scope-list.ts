/** Reads `required_scopes`, of an endpoint or a recipe.   AGTP-API §6.4, AGTP "Authority-Scope" */

import { quoteValue } from "../base/json-value.ts";
import type { TableReader } from "../base/table-reader.ts";
import { isScopeToken } from "../identity/authority-scope.ts";

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
