/**
 * Decides which scopes are handed on, and whether they are a strict subset of what their holder
 * has: each is covered, and not all that is held is handed on.   AGTP "DELEGATE"
 */

import { quoteValue } from "../../base/json-value.ts";
import { authorizationRequired, type Refusal } from "../../dispatch/refusals/refusal.ts";
import {
  compileGrants,
  isScopeToken,
  parseAuthorityScope,
} from "../../identity/authority-scope.ts";

/** The scopes that somebody holds. */
export interface Held {
  readonly scopes: readonly string[];
  covers(scope: string): boolean;
}

const MAX_SCOPES = 256;

/** Reads a list, or the text of a header; answers with what is wrong, in words. */
export function readScopes(value: unknown): readonly string[] | string {
  if (typeof value === "string") {
    return unique(parseAuthorityScope(value)) ?? "must be a comma-separated list of scope tokens";
  }
  if (!Array.isArray(value)) return `must be a list of scope tokens, got ${quoteValue(value)}`;
  if (value.length > MAX_SCOPES) return `must have at most ${MAX_SCOPES} scopes`;
  const bad = value.findIndex((one) => typeof one !== "string" || !isScopeToken(one));
  if (bad !== -1) return `must be a list of scope tokens, got ${quoteValue(value[bad])}`;
  return [...new Set<string>(value)];
}

function unique(scopes: readonly string[] | undefined): readonly string[] | undefined {
  return scopes && [...new Set(scopes)];
}

/** The scopes that their holder does not have. */
export function beyond(scopes: readonly string[], held: Held): readonly string[] {
  return scopes.filter((scope) => !held.covers(scope));
}

/** Tells whether something that is held stays behind; nothing at all can always be handed on. */
export function isNarrower(scopes: readonly string[], held: Held): boolean {
  if (scopes.length === 0) return true;
  const { covers } = compileGrants(scopes);
  return held.scopes.some((scope) => !covers(scope));
}

/** 262: names the scopes that are beyond. */
export function refuseScopes(message: string, invalid: readonly string[]): Refusal {
  return authorizationRequired("scope-required", `${message} ${invalid.join(", ")}`, {
    scope: invalid.join(", "),
    details: { missing_scopes: invalid },
  });
}
