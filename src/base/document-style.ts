/** The wording of messages about documents of a kind. */
import { escapeToken, joinIndex, joinKey } from "./dotted-key.ts";
import { clip, describeValue, isRecord, quoteValue } from "./json-value.ts";

/** The style of one kind of document. */
export interface DocumentStyle {
  readonly keyOf: (parent: string, token: string | number) => string;
  /** Words the fault of an unexpected value. */
  readonly fault: (value: unknown, expected: string) => string;
  readonly describeRepeated: (text: string) => string;
  /** Words the expectation of an array of objects with this name. */
  readonly describeRecords: (name: string) => string;
  readonly text: string;
  readonly texts: string;
  readonly list: string;
  readonly record: string;
  readonly longestText: number;
  /** True if null counts as absence, as in generated documents. */
  readonly isNullAbsent: boolean;
  readonly quotesWords: boolean;
  readonly suggestsWords: boolean;
}

/** The style of operators' files. */
export const TOML_STYLE: DocumentStyle = {
  keyOf: (parent, token) =>
    typeof token === "number" ? joinIndex(parent, token) : joinKey(parent, token),
  fault: (value, expected) => `${describeToml(value)}, expected ${expected}`,
  describeRepeated: (text) => `${describeToml(text)} a second time`,
  describeRecords: (name) => `an array of tables, as in [[${name}]]`,
  text: "a text",
  texts: "a list of texts",
  list: "a list",
  record: "a table",
  longestText: Number.POSITIVE_INFINITY,
  isNullAbsent: false,
  quotesWords: false,
  suggestsWords: true,
};

/** The style of JSON documents, with JSON Pointers. */
export const JSON_STYLE: DocumentStyle = {
  ...TOML_STYLE,
  // Clipped, since a hostile name may have megabytes.
  keyOf: (parent, token) => `${parent}/${escapeToken(clip(String(token), 128))}`,
  fault: (value, expected) => `${describeValue(value)}, expected ${expected}`,
  describeRepeated: (text) => `${quoteValue(text)} is listed twice`,
  describeRecords: () => "an array",
  texts: "an array",
  list: "an array",
  record: "an object",
  suggestsWords: false,
};

/** Describes a TOML value, for the start of a message. */
export function describeToml(value: unknown): string {
  if (value instanceof Date) return "is a date";
  return isRecord(value) ? "is a table" : describeValue(value);
}
