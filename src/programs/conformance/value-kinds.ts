/**
 * Kinds that a string of an expected value may stand for besides text: `"{integer}"`, `"{closed-schema}"`.
 * Decides whether a value is of that kind, and says in what way it is not; `checks-of-documents.ts`
 * has the kinds that are defined by what a whole document must be.
 *
 * `"{any:name}"` keeps the value as `{{name}}`; `"{output probe}"` has an argument, here the endpoint
 * that was tried.
 */
import { isRecord } from "../../base/json-value.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { checkTemplate, templateParameters } from "../../catalog/path-grammar.ts";
import type { Bindings } from "./bindings.ts";
import {
  checkAliases,
  checkContractRecord,
  checkEmbeddedMethods,
  checkGenesis,
  checkInventory,
  checkManifestSignature,
} from "./document-kinds.ts";
import { checkInputSchema, checkOutput, checkSchemaDocument } from "./schema-kinds.ts";

/** The kind that an expected string names. */
interface ValueKind {
  readonly name: string;
  readonly argument: string;
  /** Where the value is kept. */
  readonly capture: string | undefined;
}

/** A sentence that says what was expected instead; undefined: the value is of the kind. */
type KindCheck = (value: unknown, bindings: Bindings, argument: string) => string | undefined;

const WHOLE = /^\{([a-z]+(?:-[a-z]+)*)(?: ([a-z_]+))?(?::([a-z][a-z0-9_]*))?\}$/;

const CHECKS: ReadonlyMap<string, KindCheck> = new Map<string, KindCheck>([
  ["any", () => undefined],
  [
    "string",
    (value) =>
      expected("a text that is not empty", typeof value === "string" && value.trim() !== ""),
  ],
  ["text", (value) => expected("a text", typeof value === "string")],
  ["null", (value) => expected("null", value === null)],
  ["boolean", (value) => expected("true or false", typeof value === "boolean")],
  ["integer", (value) => expected("an integer", Number.isInteger(value))],
  ["positive", (value) => expected("an integer from 1", isPositive(value))],
  ["fraction", (value) => expected("a number from 0 to 1", isFraction(value))],
  ["object", (value) => expected("an object", isRecord(value))],
  ["array", (value) => expected("an array", Array.isArray(value))],
  ["names", (value) => expected("an array of names", isNames(value))],
  ["schema", checkSchemaDocument],
  ["closed-schema", checkInputSchema],
  ["output", checkOutput],
  ["path", checkPathTemplate],
  ["declared-parameters", checkDeclaredParameters],
  ["declared", checkDeclaredError],
  ["aliases", checkAliases],
  ["embedded-methods", checkEmbeddedMethods],
  ["inventory", checkInventory],
  ["signed-manifest", checkManifestSignature],
  ["genesis", checkGenesis],
  ["contract-record", checkContractRecord],
]);

/** The kind that an expected string stands for; undefined: it is a text. */
export function kindOf(expectedText: string): ValueKind | undefined {
  const [, name = "", argument = "", capture] = WHOLE.exec(expectedText) ?? [];
  return CHECKS.has(name) ? { name, argument, capture } : undefined;
}

/** The expectation that a value fails; undefined: it is of this kind, and is kept if so wanted. */
export function checkKind(
  { name, argument, capture }: ValueKind,
  value: unknown,
  bindings: Bindings,
): string | undefined {
  const fault = CHECKS.get(name)?.(value, bindings, argument);
  if (fault === undefined && capture !== undefined) bindings.set(capture, value);
  return fault;
}

function expected(what: string, isSo: boolean): string | undefined {
  return isSo ? undefined : `expected ${what}`;
}

function isPositive(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1;
}

function isFraction(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string" && name !== "");
}

/** The methods of every catalog, as the path grammar compares them. */
const FLOOR_NAMES: ReadonlySet<string> = new Set(FLOOR_METHODS.map((name) => name.toLowerCase()));
const MAX_PATH_LENGTH = 8192;
const MAX_DEPTH = 8;

/** A path that may be registered. */
function checkPathTemplate(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_PATH_LENGTH) return "expected a path";
  const fault = checkTemplate(value, FLOOR_NAMES);
  return fault && `expected a path that the grammar allows: ${fault.message}`;
}

/** An endpoint whose input schema declares what its path names. */
function checkDeclaredParameters(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected an endpoint";
  const { path, input_schema: schema } = value;
  const declared = isRecord(schema) ? schema["properties"] : undefined;
  const missing = templateParameters(typeof path === "string" ? path : "").find(
    (name) => !isRecord(declared) || !Object.hasOwn(declared, name),
  );
  return missing && `expected the parameter {${missing}} in the properties of the input_schema`;
}

/** A body that names one of the errors which the tried endpoint declares. */
function checkDeclaredError(
  value: unknown,
  bindings: Bindings,
  endpoint: string,
): string | undefined {
  const declared = bindings.get(`${endpoint}.errors`);
  const names = Array.isArray(declared) ? declared : [];
  if (namesOne(value, names, 0)) return undefined;
  return `expected an error that the endpoint declares, one of ${names.join(", ") || "none"}`;
}

function namesOne(value: unknown, names: readonly unknown[], depth: number): boolean {
  if (typeof value === "string") return names.includes(value);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return false;
  return Object.values(value).some((member) => namesOne(member, names, depth + 1));
}
