/**
 * The members of a document that says who an agent is, in the words that are used of such documents;
 * null is absent, as some writers put it.   AGTP "Agent Identity Document", "Agent Genesis"
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
/** A date lacks these of a point in time, or a time its zone. */
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

/** The root of a document; undefined where the text is none. `file` is the name that problems carry. */
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

/** A member that must be there, as a text with something in it; undefined once it is reported. */
export function readRequiredText(place: DocumentPlace): string | undefined {
  return place.isAbsent ? place.fail("is required") : place.text();
}

/** Reports a text that is no point in time. */
export function checkTime(place: DocumentPlace): void {
  const { value } = place;
  if (typeof value !== "string" || value.trim() === "") return;
  if (LACKING.some((rest) => readTimestamp(value + rest) !== undefined)) return;
  failWith(place, "must be an ISO 8601 time");
}

/** A member that is an Ed25519 public key, where it is there. */
export function readKey(place: DocumentPlace): Ed25519PublicKey | undefined {
  const text = place.optional?.text();
  if (text === undefined) return undefined;
  // Not quoted: somebody may have put the private key there.
  return readPublicKey(text) ?? place.fail("must be an Ed25519 public key, PEM or base64url");
}

/** A list of scope tokens, each once; what is none is reported, and absent is empty. */
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

/** Reports a value, and what it should have been. */
export function failWith(place: DocumentPlace, message: string): undefined {
  return place.fail(`${message}, got ${quoteValue(place.value)}`);
}
