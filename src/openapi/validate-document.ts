/**
 * Finds violations of the OpenAPI specification in a document, as warnings: published documents
 * often have some, and those that matter for an endpoint are checked where it is made. The
 * validator gets the paths in bounded portions, with references replaced beforehand, so that it has
 * nothing to follow or expand.
 */
import { isRecord, type JsonRecord, recordIn } from "../base/json-value.ts";
import { reasonOf } from "../base/thrown.ts";
import { recordAt } from "./references.ts";
import { asOpenApi31, breachesOf32, isOpenApi32 } from "./version-3-2.ts";

const MAX_WARNINGS = 20;
/** The number of values in one portion; handwritten paths are smaller. */
const MAX_VALUES = 4000;
const MAX_DEPTH = 40;
/** The depth to which nested references are replaced, because path items may refer to themselves. */
const MAX_REFERENCES = 3;
/** Keywords with schemas or maps of schemas, which are checked elsewhere. */
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

/** Returns a line for each violation, at most twenty. */
export async function validateDocument(document: JsonRecord): Promise<readonly string[]> {
  const warnings: string[] = [];
  const { paths, components, webhooks: _webhooks, ...head } = document;
  const schemes = recordIn(components)["securitySchemes"];
  const rest = {
    ...head,
    ...(schemes === undefined ? {} : { components: { securitySchemes: schemes } }),
  };
  const top = copyWithin(rest, document);
  const isNew = isOpenApi32(document);
  for (const portion of portionsOf(recordIn(paths), document, warnings)) {
    if (warnings.length >= MAX_WARNINGS) break;
    if (isNew) {
      warnings.push(...Object.entries(portion).flatMap(([path, item]) => breachesOf32(path, item)));
    }
    const part = { ...top?.copy, paths: portion };
    warnings.push(...(await validatePortion(isNew ? asOpenApi31(part) : part)));
  }
  return [...new Set(warnings)].slice(0, MAX_WARNINGS);
}

async function validatePortion(portion: JsonRecord): Promise<readonly string[]> {
  const { validate } = await import("@readme/openapi-parser");
  try {
    const result = await validate(portion as Parameters<typeof validate>[0], {
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

/** The paths in portions that the validator can handle. */
function* portionsOf(
  paths: JsonRecord,
  document: JsonRecord,
  warnings: string[],
): Generator<Readonly<Record<string, JsonRecord>>> {
  let portion: Record<string, JsonRecord> = {};
  let size = 0;
  for (const [path, item] of Object.entries(paths)) {
    const copied = copyWithin(item, document);
    if (copied === undefined) {
      warnings.push(oneLine(`the path ${JSON.stringify(path)} is too intricate to be checked`));
      continue;
    }
    if (size + copied.size > MAX_VALUES) {
      yield portion;
      portion = {};
      size = 0;
    }
    portion[path] = copied.copy;
    size += copied.size;
  }
  yield portion;
}

/** The remaining size of a copy in progress. */
interface Budget {
  readonly document: JsonRecord;
  left: number;
}

/** Copies a part of a document; undefined if it exceeds the budget. */
function copyWithin(
  part: unknown,
  document: JsonRecord,
): { readonly copy: JsonRecord; readonly size: number } | undefined {
  const budget: Budget = { document, left: MAX_VALUES };
  const copy = withoutReferences(part, budget, { depth: 0, references: 0 });
  if (budget.left < 0) return undefined;
  return { copy: recordIn(copy), size: MAX_VALUES - budget.left };
}

interface Level {
  readonly depth: number;
  readonly references: number;
}

/** Copies a value with empty schemas, and with other references replaced by their targets. */
function withoutReferences(value: unknown, budget: Budget, level: Level): unknown {
  budget.left -= 1;
  if (budget.left < 0 || level.depth > MAX_DEPTH) return {};
  const below = { ...level, depth: level.depth + 1 };
  if (Array.isArray(value)) {
    return value.map((item: unknown) => withoutReferences(item, budget, below));
  }
  if (!isRecord(value)) return value;
  const isReference = typeof value["$ref"] === "string";
  // A reference may have a summary even if its target may not.   OAS 3.1.2 §4.23
  const { summary: _summary, ...bare } = value;
  const found = isReference ? recordAt(bare, budget.document) : value;
  const references = level.references + Number(isReference);
  if (references > MAX_REFERENCES) return {};
  const members = Object.entries(found)
    .filter(([name]) => !UNUSED_KEYWORDS.has(name) && !name.startsWith("x-"))
    .map(([name, member]) => [
      name,
      SCHEMA_KEYWORDS.has(name)
        ? {}
        : withoutReferences(member, budget, { depth: below.depth, references }),
    ]);
  return Object.fromEntries(members);
}

function oneLine(message: string): string {
  const [first = "", ...rest] = message.split("\n").filter((line) => line.trim() !== "");
  const pointed = rest.find((line) => /\^/.test(line))?.replace(/^[\s|>\d]*\^*\s*/, "") ?? "";
  return `${first.trim()}${pointed === "" ? "" : `: ${pointed}`}`.slice(0, 400);
}
