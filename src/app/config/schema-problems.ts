/**
 * Converts the schema validator's errors to problems that an operator can act on: the dotted key,
 * the expected and the written value, but never a secret.
 */
import type { ErrorObject } from "ajv/dist/2020.js";
import { closeMatches } from "../../base/close-matches.ts";
import { atPointer, fromPointer, joinKey } from "../../base/dotted-key.ts";
import { recordIn } from "../../base/json-value.ts";
import type { Problem } from "../../base/problem.ts";
import { isTable } from "../../base/toml-document.ts";

/** The file's name, and its tree before variables were substituted. */
export interface WrittenFile {
  readonly file: string;
  readonly tree: unknown;
}

const MAX_QUOTED = 80;
/** Keywords that only summarize other errors. */
const SUMMARIES: ReadonlySet<string> = new Set(["if", "propertyNames"]);

/** Returns a problem for each error with information of its own. */
export function describeSchemaErrors(
  errors: readonly ErrorObject[],
  written: WrittenFile,
): readonly Problem[] {
  // A value outside an enum is told the permitted words, not their type as well.
  const told = new Set(
    errors.filter(({ keyword }) => keyword === "enum").map(({ instancePath }) => instancePath),
  );
  return errors
    .filter((error) => !SUMMARIES.has(error.keyword))
    .filter(({ keyword, instancePath }) => keyword !== "type" || !told.has(instancePath))
    .map((error) => describeError(error, written));
}

function describeError(error: ErrorObject, { file, tree }: WrittenFile): Problem {
  const key = fromPointer(error.instancePath, tree);
  const { parentSchema = {}, params } = error;
  if (error.keyword === "additionalProperties") {
    return unknownKey(file, key, params["additionalProperty"], parentSchema["properties"]);
  }
  if (error.keyword === "required") {
    const missing: string = params["missingProperty"];
    return { file, key: joinKey(key, missing), message: "is required" };
  }
  if (error.propertyName !== undefined) {
    return nameProblem(error, error.propertyName, { file, key: joinKey(key, error.propertyName) });
  }
  const isSecret = parentSchema["writeOnly"] === true;
  const value = atPointer(error.instancePath, tree);
  const got = isSecret ? "" : `, got ${quote(value)}`;
  const problem = { file, key, message: `must ${describeExpected(error)}${got}` };
  if (isQuoted(error, value)) return { ...problem, hint: "write it without quotes" };
  return isSingleTable(error, value) ? { ...problem, hint: `write [[${key}]]` } : problem;
}

/** Tells whether a table stands in place of a list of tables. */
function isSingleTable(
  { keyword, params, parentSchema = {} }: ErrorObject,
  value: unknown,
): boolean {
  const { type }: Record<string, unknown> = params;
  const items = recordIn(parentSchema["items"]);
  return keyword === "type" && type === "array" && items["type"] === "object" && isTable(value);
}

/** Tells whether a number or boolean was written as a string. */
function isQuoted({ keyword, params }: ErrorObject, value: unknown): boolean {
  if (keyword !== "type" || typeof value !== "string") return false;
  const { type }: Record<string, unknown> = params;
  if (type === "boolean") return value === "true" || value === "false";
  return (type === "integer" || type === "number") && /^\d+(?:\.\d+)?$/.test(value);
}

function unknownKey(file: string, parent: string, name: string, properties: unknown): Problem {
  const known = Object.keys(properties ?? {});
  const [closest] = closeMatches(name, known, 1);
  return {
    file,
    key: joinKey(parent, name),
    message: `unknown key ${quote(name)}`,
    hint: closest === undefined ? `known keys: ${known.join(", ")}` : `did you mean "${closest}"?`,
  };
}

/** Describes an operator-chosen key that is not permitted. */
function nameProblem(
  error: ErrorObject,
  name: string,
  place: Pick<Problem, "file" | "key">,
): Problem {
  const allowed: unknown = error.parentSchema?.["enum"];
  const [closest] = closeMatches(name, Array.isArray(allowed) ? allowed.map(String) : [], 1);
  const message = `the key must ${describeExpected(error)}, got ${quote(name)}`;
  const hint = closest === undefined ? {} : { hint: `did you mean "${closest}"?` };
  return { ...place, message, ...hint };
}

function describeExpected({ keyword, params, parentSchema, message }: ErrorObject): string {
  const expected: unknown = parentSchema?.["expected"];
  switch (keyword) {
    case "enum":
      return `be ${expected ?? `one of ${params["allowedValues"].map(quote).join(", ")}`}`;
    case "pattern":
      return `be ${expected ?? "of another form"}`;
    case "type":
      return `be ${describeType(params["type"])}`;
    case "minimum":
      return `be at least ${params["limit"]}`;
    case "maximum":
      return `be at most ${params["limit"]}`;
    case "maxLength":
      return `be at most ${params["limit"]} characters long`;
    case "minItems":
      return `have at least ${params["limit"]} item`;
    case "maxItems":
      return `have at most ${params["limit"]} items`;
    default:
      return (message ?? "satisfy the schema").replace(/^must /, "");
  }
}

function describeType(type: string): string {
  if (type === "object") return "a table";
  if (type === "array") return "a list";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function quote(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return `the date ${value.toISOString()}`;
  if (typeof value === "object" && value !== null) return "a table";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED - 1)}…` : text;
}
