/**
 * Reads the members of a document that others wrote. Each that is missing, or is not what its name
 * says, is reported under that name; null is absent, as some writers put it.
 * AGTP "Agent Identity Document", "Agent Genesis"
 */
import { type JsonRecord, quoteValue } from "../base/json-value.ts";
import type { Problem } from "../base/problem.ts";
import { isScopeToken } from "./authority-scope.ts";
import { type Ed25519PublicKey, readPublicKey } from "./ed25519.ts";

/** Takes in what is wrong with a member. */
export type Report = (key: string, message: string, severity?: Problem["severity"]) => void;

const MAX_SCOPES = 1024;
const ISO_8601 =
  /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i;

/** Tells whether a document has a member. */
export function hasMember(source: JsonRecord, key: string): boolean {
  return (source[key] ?? undefined) !== undefined;
}

/** A member that must be there, as a text with something in it; undefined once it is reported. */
export function readRequiredText(
  source: JsonRecord,
  key: string,
  report: Report,
): string | undefined {
  if (hasMember(source, key)) return readText(source, key, report);
  report(key, "is required");
  return undefined;
}

/** A member that is a text with something in it, where it is there. */
export function readText(source: JsonRecord, key: string, report: Report): string | undefined {
  const value = source[key] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "string") report(key, `must be a string, got ${quoteValue(value)}`);
  else if (value.trim() === "") report(key, "must not be empty");
  else return value;
  return undefined;
}

/** Reports a text that is no point in time. */
export function checkTime(text: string | undefined, key: string, report: Report): void {
  if (text === undefined || (ISO_8601.test(text) && !Number.isNaN(Date.parse(text)))) return;
  report(key, `must be an ISO 8601 time, got ${quoteValue(text)}`);
}

/** A member that is an Ed25519 public key, where it is there. */
export function readKey(
  source: JsonRecord,
  key: string,
  report: Report,
): Ed25519PublicKey | undefined {
  const text = readText(source, key, report);
  if (text === undefined) return undefined;
  const publicKey = readPublicKey(text);
  if (publicKey === undefined) {
    // Not quoted: somebody may have put the private key there.
    report(key, "must be an Ed25519 public key, PEM or base64url");
  }
  return publicKey;
}

/** A list of scope tokens, each once; what is none is reported. */
export function readScopeTokens(scopes: unknown, key: string, report: Report): readonly string[] {
  if (!Array.isArray(scopes)) {
    report(key, `must be an array of scope tokens, got ${quoteValue(scopes)}`);
    return [];
  }
  if (scopes.length > MAX_SCOPES) {
    report(key, `must have at most ${MAX_SCOPES} scopes, has ${scopes.length}`);
    return [];
  }
  for (const [index, scope] of scopes.entries()) {
    if (typeof scope === "string" && isScopeToken(scope)) continue;
    report(
      `${key}[${index}]`,
      `must be a scope token like "booking:room", got ${quoteValue(scope)}`,
    );
  }
  return [...new Set<string>(scopes)];
}
