/**
 * A document's `x-agtp-…` members: an export writes them for every endpoint, and authors may add
 * them to operations. Valid values have been reviewed by someone, so an import adopts them, and
 * notes those it rejects.   AGTP-API §14.1, §14.2
 */
import { isRecord, isTexts, type JsonRecord } from "../base/json-value.ts";
import type { SemanticBlock } from "../endpoint/endpoint.ts";
import { readProposedSemantic } from "../endpoint/semantic-block.ts";
import { containsNull } from "./schema-dialect.ts";
import type { Notes } from "./words.ts";

/** The members of an operation that are about AGTP. */
export const EXTENSION = {
  method: "x-agtp-method",
  path: "x-agtp-path",
  namespace: "x-agtp-namespace",
  description: "x-agtp-description",
  semantic: "x-agtp-semantic",
  errors: "x-agtp-errors",
  scopes: "x-agtp-required-scopes",
  deprecated: "x-agtp-deprecated",
} as const;

/** The extension that marks a document as made from endpoints. */
export const DERIVED_FROM = "x-agtp-derived-from";

/** Returns true if a document is an export: its schemas already are those of endpoints. */
export function isDerived(document: JsonRecord): boolean {
  return isRecord(document[DERIVED_FROM]);
}

/** The valid members of an operation's extension. */
export interface AgtpExtension {
  readonly method?: string;
  readonly path?: string;
  readonly namespace?: string;
  readonly description?: string;
  readonly semantic?: SemanticBlock;
  readonly errors?: readonly string[];
  readonly scopes?: readonly string[];
  readonly deprecated?: JsonRecord;
}

/** Reads the extension of an operation. */
export function readExtension(operation: JsonRecord, notes: Notes): AgtpExtension {
  const written = operation[EXTENSION.semantic];
  const block = written === undefined ? undefined : readProposedSemantic(written);
  if (block !== undefined && "faults" in block) {
    notes.add(`${EXTENSION.semantic} is not taken: ${block.faults.join(", ")}`);
  }
  const take = (key: keyof typeof EXTENSION, { expected, read }: Kind): AgtpExtension => {
    const value = operation[EXTENSION[key]];
    const taken = value === undefined ? undefined : read(value);
    if (taken !== undefined) return { [key]: taken };
    if (value !== undefined) notes.add(`${EXTENSION[key]} is not taken: expected ${expected}`);
    return {};
  };
  return {
    ...take("method", TEXT),
    ...take("path", TEXT),
    ...take("namespace", TEXT),
    ...take("description", TEXT),
    ...(block !== undefined && "semantic" in block ? { semantic: block.semantic } : {}),
    ...take("errors", TEXTS),
    ...take("scopes", TEXTS),
    ...take("deprecated", TABLE),
  };
}

/** A type of value, with its name for messages and its reader, which returns undefined for another type. */
interface Kind {
  readonly expected: string;
  readonly read: (value: unknown) => unknown;
}

const TEXT: Kind = {
  expected: "a text",
  read: (value) => (typeof value === "string" && value.trim() !== "" ? value : undefined),
};
const TEXTS: Kind = {
  expected: "a list of texts",
  read: (value) => (isTexts(value) ? [...new Set(value)] : undefined),
};
const TABLE: Kind = {
  expected: "an object without null",
  read: (value) => (isRecord(value) && !containsNull(value) ? value : undefined),
};
