/** Reads `required_scopes`, of an endpoint or a recipe.   AGTP-API §6.4, AGTP "Authority-Scope" */

import type { DocumentPlace } from "../base/document-place.ts";
import { quoteValue } from "../base/json-value.ts";
import { isScopeToken } from "../identity/authority-scope.ts";

/** The scopes; empty when the table names none. */
export function readRequiredScopes(table: DocumentPlace): readonly string[] {
  const scopes = table.at("required_scopes").texts();
  for (const scope of scopes) {
    if (isScopeToken(scope)) continue;
    const expected = 'expected two or more segments, as in "booking:room"';
    table.at("required_scopes").fail(`${quoteValue(scope)} is no scope, ${expected}`);
  }
  return scopes;
}
