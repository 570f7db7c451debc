/**
 * Reads delegated scopes, and checks that they are a strict subset of their holder's: each is covered, and some held
 * scope is not delegated.   AGTP "DELEGATE"
 */

import { quoteValue } from "../../base/json-value.ts";
import { authorizationRequired, type Refusal } from "../../dispatch/refusals/refusal.ts";
import {
  compileGrants,
  isScopeToken,
  parseAuthorityScope,
} from "../../identity/authority-scope.ts";

/** The scopes of a holder. */
export interface Held {
  readonly scopes: readonly string[];
  covers(scope: string): boolean;
}

const MAX_SCOPES = 256;

/** Reads a list or a header's text; returns what is wrong with it as a string. */
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

/** The scopes that the holder lacks. */
export function beyond(scopes: readonly string[], held: Held): readonly string[] {
  return scopes.filter((scope) => !held.covers(scope));
}

/** Tells whether some held scope is not delegated; no scopes at all can always be delegated. */
export function isNarrower(scopes: readonly string[], held: Held): boolean {
  if (scopes.length === 0) return true;
  const { covers } = compileGrants(scopes);
  return held.scopes.some((scope) => !covers(scope));
}

/** 262: names the missing scopes. */
export function refuseScopes(message: string, invalid: readonly string[]): Refusal {
  return authorizationRequired("scope-required", `${message} ${invalid.join(", ")}`, {
    scope: invalid.join(", "),
    details: { missing_scopes: invalid },
  });
}
