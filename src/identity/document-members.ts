/**
 * Readers for the members of documents that identify an agent; some writers use null for an absent
 * member.   AGTP "Agent Identity Document", "Agent Genesis"
 */
import { type DocumentPlace, documentAt } from "../base/document-place.ts";
import { type DocumentStyle, JSON_STYLE, TOML_STYLE } from "../base/document-style.ts";
import { isRecord, quoteValue } from "../base/json-value.ts";
import type { Problem } from "../base/problem.ts";
import { readTimestamp } from "../base/timestamp.ts";
import { isScopeToken } from "./authority-scope.ts";
import { type Ed25519PublicKey, readPublicKey } from "./ed25519.ts";
import { parseBoundedJson } from "./json-document.ts";

const MAX_SCOPES = 1024;
/** The suffixes that may complete a date or a local time to a point in time. */
const LACKING = ["", "Z", "T00:00Z"];

const TEXT = "a string";
const STYLE: DocumentStyle = {
  ...JSON_STYLE,
  keyOf: TOML_STYLE.keyOf,
  fault: (value, expected) =>
    expected === TEXT && typeof value === "string"
      ? "must not be empty"
      : `must be ${expected}, got ${quoteValue(value)}`,
  text: TEXT,
};

/** Opens the root of a document; undefined if the text is not valid. `file` is the name in problems. */
export function openDocument(
  text: string,
  file: string,
  problems: Problem[],
): DocumentPlace | undefined {
  const parsed = parseBoundedJson(text);
  const value = parsed.fault === undefined ? parsed.value : undefined;
  const root = documentAt(value, { file, key: "" }, problems, { style: STYLE });
  return isRecord(value) ? root : root.fail(parsed.fault ?? "must be a JSON object");
}

/** Reads a required, non-empty text; undefined once its problem is reported. */
export function readRequiredText(place: DocumentPlace): string | undefined {
  return place.isAbsent ? place.fail("is required") : place.text();
}

/** Reports a text that is not a point in time. */
export function checkTime(place: DocumentPlace): void {
  const { value } = place;
  if (typeof value !== "string" || value.trim() === "") return;
  if (LACKING.some((rest) => readTimestamp(value + rest) !== undefined)) return;
  failWith(place, "must be an ISO 8601 time");
}

/** Reads an optional Ed25519 public key. */
export function readKey(place: DocumentPlace): Ed25519PublicKey | undefined {
  const text = place.optional?.text();
  if (text === undefined) return undefined;
  // Not quoted in the problem: it might be a private key.
  return readPublicKey(text) ?? place.fail("must be an Ed25519 public key, PEM or base64url");
}

/** Reads a list of unique scope tokens; invalid ones are reported, and an absent list is empty. */
export function readScopeTokens(place: DocumentPlace): readonly string[] {
  const items = place.optional?.items("an array of scope tokens") ?? [];
  if (items.length > MAX_SCOPES) {
    place.fail(`must have at most ${MAX_SCOPES} scopes, has ${items.length}`);
    return [];
  }
  const scopes = items.flatMap((item) => {
    const { value } = item;
    if (typeof value === "string" && isScopeToken(value)) return [value];
    return failWith(item, 'must be a scope token like "booking:room"') ?? [];
  });
  return [...new Set(scopes)];
}

/** Reports a value with the form that was expected. */
export function failWith(place: DocumentPlace, message: string): undefined {
  return place.fail(`${message}, got ${quoteValue(place.value)}`);
}
