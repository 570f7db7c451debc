/**
 * The kinds of values, besides text, that a string in an expected value can stand for:
 * `"{integer}"`, `"{closed-schema}"`. Each check returns how a value fails. Some kinds are whole
 * documents, whose parts must agree with each other or with the server's other statements.
 *
 * `"{any:name}"` keeps the value as `{{name}}`; `"{output probe}"` has an argument, here the
 * endpoint that was tried.
 */

import { hash } from "node:crypto";
import {
  isFraction,
  isRecord,
  isTexts,
  type JsonRecord,
  recordIn,
  recordsIn,
} from "../../base/json-value.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { checkTemplate, templateParameters } from "../../catalog/path-grammar.ts";
import { signedOctets } from "../../identity/genesis.ts";
import { isSha256 } from "../../identity/identifiers.ts";
import { decodeJws } from "../../identity/jws.ts";
import { verifyManifest } from "../../identity/manifest-signature.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { prepareMeteredCheck } from "../../schema/metered-schema.ts";
import {
  OPERATOR_SCHEMA_BOUNDS,
  PROPOSED_SCHEMA_BOUNDS,
  type SchemaBounds,
} from "../../schema/schema-bounds.ts";
import { checkSchema } from "../../schema/schema-check.ts";
import { asText, type Bindings } from "./text-pattern.ts";

interface ValueKind {
  readonly name: string;
  readonly argument: string;
  readonly capture: string | undefined;
}

/** Returns a sentence on what was expected; undefined if the value is of the kind. */
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
  [
    "positive",
    (value) => expected("an integer from 1", Number.isInteger(value) && Number(value) >= 1),
  ],
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

/** The kind that an expected string stands for; undefined if it is plain text. */
export function kindOf(expectedText: string): ValueKind | undefined {
  const [, name = "", argument = "", capture] = WHOLE.exec(expectedText) ?? [];
  return CHECKS.has(name) ? { name, argument, capture } : undefined;
}

/** Checks a value against a kind, and binds it if requested; returns the failed expectation or undefined. */
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

function isNames(value: unknown): boolean {
  return isTexts(value) && !value.includes("");
}

/** The floor methods, normalized like path segments. */
const FLOOR_NAMES: ReadonlySet<string> = new Set(FLOOR_METHODS.map((name) => name.toLowerCase()));
const MAX_PATH_LENGTH = 8192;
const MAX_DEPTH = 8;

function checkPathTemplate(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_PATH_LENGTH) return "expected a path";
  const fault = checkTemplate(value, FLOOR_NAMES);
  return fault && `expected a path that the grammar allows: ${fault.message}`;
}

/** Checks that an endpoint's input schema declares its path parameters. */
function checkDeclaredParameters(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected an endpoint";
  const { path, input_schema: schema } = value;
  const declared = recordIn(schema)["properties"];
  const missing = templateParameters(typeof path === "string" ? path : "").find(
    (name) => !isRecord(declared) || !Object.hasOwn(declared, name),
  );
  return missing && `expected the parameter {${missing}} in the properties of the input_schema`;
}

/** Checks that a body names one of the errors that the tried endpoint declares. */
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

const ORIGINS: readonly unknown[] = ["rcns-gate", "propose", "pre-registered"];

/** AGTP-API §9.2: aliases lead to method names, and never to another alias. */
function checkAliases(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected an object of aliases";
  const entries = Object.entries(value);
  const odd = entries.find(([, target]) => typeof target !== "string" || target === "");
  if (odd !== undefined) return `expected the alias ${odd[0]} to name a method`;
  const chained = entries.find(([, target]) => Object.hasOwn(value, String(target)));
  return chained && `expected ${chained[0]} to be an alias of a method, not of an alias`;
}

/** AGTP-API §8.4: the eighteen floor methods, as names or as objects with a name. */
function checkEmbeddedMethods(value: unknown): string | undefined {
  if (!Array.isArray(value)) return "expected the eighteen floor methods";
  const names = new Set(
    value.map((entry) => (isRecord(entry) ? (entry["name"] ?? entry["method"]) : entry)),
  );
  const missing = FLOOR_METHODS.find((method) => !names.has(method));
  return missing && `expected the eighteen floor methods, and ${missing} among them`;
}

/** AGTP-API §5.8: the inventory contains every endpoint of the manifest. */
function checkInventory(value: unknown, bindings: Bindings): string | undefined {
  if (!Array.isArray(value)) return "expected an array of endpoints";
  const listed = new Set(recordsIn(value).map(pairOf));
  const published = recordsIn(bindings.get("manifest.endpoints"));
  const missing = published.map(pairOf).find((pair) => !listed.has(pair));
  return missing && `expected every endpoint of the manifest, and ${missing} among them`;
}

/** AGTP-API §8.8: a signature may be absent, but not invalid. */
function checkManifestSignature(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected a manifest";
  const verdict = verifyManifest(value);
  if (verdict.kind !== "invalid") return undefined;
  return `expected a manifest_signature that verifies: it ${verdict.fault}`;
}

/** AGTP-API §5.8.1: the document whose hash is the Agent-ID, signature included. */
function checkGenesis(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected an Agent Genesis";
  if (typeof value["signature"] !== "string") return "expected an Agent Genesis with its signature";
  const derived = hashOf(value);
  return derived === value["agent_id"]
    ? undefined
    : `expected an Agent Genesis whose hash is its agent_id, it is ${String(derived)}`;
}

function hashOf(genesis: Readonly<Record<string, unknown>>): string | undefined {
  try {
    return hash("sha256", signedOctets(genesis));
  } catch {
    // The value has no canonical form: it is too deep, or contains a number that JCS rejects.
    return undefined;
  }
}

/** AGTP-API §10.1.6: the record of an action under a contract names the contract. */
function checkContractRecord(value: unknown, bindings: Bindings): string | undefined {
  const payload = typeof value === "string" ? decodeJws(value)?.payload : undefined;
  if (payload === undefined) return "expected an Attribution-Record";
  const { synthesis_id: id, contract_hash: hash, negotiation_origin: origin } = payload;
  if (id !== bindings.get("contract")) {
    return "expected an Attribution-Record with the synthesis_id of the contract";
  }
  if (typeof hash !== "string" || !isSha256(hash)) {
    return "expected an Attribution-Record with a contract_hash of 64 hexadecimal digits";
  }
  return ORIGINS.includes(origin)
    ? undefined
    : `expected an Attribution-Record with a negotiation_origin, one of ${ORIGINS.join(", ")}`;
}

/** Returns the fault of a value, in words; undefined if it is valid. */
export type ValueJudge = (value: unknown) => string | undefined;

/** The bounds of operators' own files; unknown keywords are allowed. */
const PUBLISHED: SchemaBounds = {
  ...OPERATOR_SCHEMA_BOUNDS,
  isTolerant: true,
  takesForeignFormats: true,
};
/** The bounds of schemas that values are validated against: RE2 must support their patterns. */
const JUDGED: SchemaBounds = {
  ...OPERATOR_SCHEMA_BOUNDS,
  isTolerant: true,
  takesForeignFormats: true,
  maxPatternSize: PROPOSED_SCHEMA_BOUNDS.maxPatternSize,
};

/** Checks that a value is a JSON Schema 2020-12. */
function checkSchemaDocument(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (!isRecord(value)) return "expected a JSON Schema";
  const [fault] = checkSchema(value, PUBLISHED);
  return fault && `expected a JSON Schema 2020-12: ${fault.pointer || "it"} ${fault.message}`;
}

/** AGTP-API §6.4: an input schema describes a closed object. */
function checkInputSchema(value: unknown): string | undefined {
  const fault = checkSchemaDocument(value);
  if (fault !== undefined) return fault;
  if (!isRecord(value) || value["type"] !== "object") return 'expected a schema of type "object"';
  return value["additionalProperties"] === false
    ? undefined
    : 'expected a schema with "additionalProperties": false';
}

/** Checks a value against the named endpoint's output schema; it passes if the schema is unusable. */
function checkOutput(value: unknown, bindings: Bindings, endpoint: string): string | undefined {
  const fault = judgeOf(bindings.get(`${endpoint}.output_schema`))?.(value);
  return fault && `expected what the output_schema describes: ${fault}`;
}

/** Compiles a validator for an untrusted schema; undefined if it is invalid or exceeds the bounds. */
export function judgeOf(schema: unknown): ValueJudge | undefined {
  if (!isRecord(schema) || checkSchema(schema as JsonSchema, JUDGED).length > 0) return undefined;
  const check = prepareMeteredCheck(schema);
  return (value) => {
    const [violation] = check(value) ?? [];
    return violation && `${violation.path || "the value"} ${violation.message}`;
  };
}

/** The method and path that identify an endpoint, whose members are untrusted. */
export function pairOf({ method, path }: JsonRecord): string {
  return `${asText(method ?? null)} ${asText(path ?? null)}`;
}
