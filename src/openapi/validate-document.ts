/**
 * What a document breaks of the OpenAPI specification, as warnings: published documents often break
 * some of it, and what matters for an endpoint is checked where the endpoint is made. The validator
 * sees every reference replaced beforehand, so it has nothing to follow and nothing to expand.
 */
import { isRecord, type JsonRecord } from "../json-value.ts";
import { reasonOf } from "../thrown.ts";
import { recordAt } from "./reference.ts";

const MAX_WARNINGS = 20;
/** Path items that refer to path items could be written out without end. */
const MAX_VALUES = 4_000_000;
const MAX_DEPTH = 40;
/** The values of these are schemas or maps of schemas; what they may be is looked at elsewhere. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set(["schema", "schemas", "itemSchema"]);
const UNUSED_KEYWORDS: ReadonlySet<string> = new Set([
  ...["callbacks", "links", "example", "examples"],
]);
const RULES = {
  "array-without-items": "warning",
  "duplicate-non-request-body-parameters": "warning",
  "duplicate-operation-id": "warning",
  "invalid-security-scheme-properties": "warning",
  "non-optional-path-parameters": "warning",
  "path-parameters-not-in-parameters": "warning",
  "path-parameters-not-in-path": "warning",
} as const;

/** One line for each thing that is wrong, at most twenty. */
export async function validateDocument(document: JsonRecord): Promise<readonly string[]> {
  const { validate } = await import("@readme/openapi-parser");
  const api = withoutReferences(document, { document, left: MAX_VALUES }, 0) as Parameters<
    typeof validate
  >[0];
  try {
    const result = await validate(api, {
      resolve: { external: false, file: false },
      validate: { rules: { openapi: RULES } },
    });
    const errors = result.valid ? [] : result.errors;
    return [...errors, ...result.warnings]
      .slice(0, MAX_WARNINGS)
      .map(({ message }) => oneLine(message));
  } catch (error) {
    return [oneLine(reasonOf(error))];
  }
}

/** The copy that is being made, and how much of it there may still be. */
interface Copy {
  readonly document: JsonRecord;
  left: number;
}

/** A copy in which schemas are anything, and other references what they lead to. */
function withoutReferences(value: unknown, copy: Copy, depth: number): unknown {
  copy.left -= 1;
  if (copy.left < 0 || depth > MAX_DEPTH) return {};
  if (Array.isArray(value)) {
    return value.map((item: unknown) => withoutReferences(item, copy, depth + 1));
  }
  if (!isRecord(value)) return value;
  const found = typeof value["$ref"] === "string" ? recordAt(value, copy.document) : value;
  const members = Object.entries(found)
    .filter(([name]) => !isPassedOver(name, depth))
    .map(([name, member]) => [
      name,
      SCHEMA_KEYWORDS.has(name) ? {} : withoutReferences(member, copy, depth + 1),
    ]);
  return Object.fromEntries(members);
}

/** Unused parts are judged where they are used, callbacks and links nowhere. */
function isPassedOver(name: string, depth: number): boolean {
  if (depth === 0 && name === "components") return true;
  return UNUSED_KEYWORDS.has(name) || name.startsWith("x-");
}

function oneLine(message: string): string {
  const [first = "", ...rest] = message.split("\n").filter((line) => line.trim() !== "");
  const pointed = rest.find((line) => /\^/.test(line))?.replace(/^[\s|>\d]*\^*\s*/, "") ?? "";
  return `${first.trim()}${pointed === "" ? "" : `: ${pointed}`}`.slice(0, 400);
}
