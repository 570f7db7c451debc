/**
 * A document's own words about AGTP, under `x-agtp-…`: an export says it of every endpoint, and
 * an author may say it of an operation. What is there and valid has been judged by somebody, so an
 * import takes it as it is.   AGTP-API §14.1, §14.2
 */
import { isRecord, type JsonRecord } from "../base/json-value.ts";
import type { SemanticBlock } from "../endpoint/endpoint.ts";
import { readProposedSemantic } from "../endpoint/semantic-block.ts";
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

/** The extension in which a document says that it was made from endpoints. */
export const DERIVED_FROM = "x-agtp-derived-from";

/** Tells whether a document is an export: its schemas are those of endpoints already. */
export function isDerived(document: JsonRecord): boolean {
  return isRecord(document[DERIVED_FROM]);
}

/** The extension's members, as far as they are valid. */
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
  const deprecated = operation[EXTENSION.deprecated];
  return {
    ...textAt(operation, "method"),
    ...textAt(operation, "path"),
    ...textAt(operation, "namespace"),
    ...textAt(operation, "description"),
    ...(block !== undefined && "semantic" in block ? { semantic: block.semantic } : {}),
    ...listAt(operation, "errors"),
    ...listAt(operation, "scopes"),
    ...(isRecord(deprecated) ? { deprecated } : {}),
  };
}

function textAt(operation: JsonRecord, key: keyof typeof EXTENSION): AgtpExtension {
  const value = operation[EXTENSION[key]];
  return typeof value === "string" && value.trim() !== "" ? { [key]: value } : {};
}

function listAt(operation: JsonRecord, key: keyof typeof EXTENSION): AgtpExtension {
  const value = operation[EXTENSION[key]];
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  return isList ? { [key]: [...new Set(value)] } : {};
}
