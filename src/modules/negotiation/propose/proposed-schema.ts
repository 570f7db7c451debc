/**
 * Reads the schemas that callers propose: JSON Schema 2020-12, bounded in every dimension before use. An accepted
 * schema checks any value in bounded time; any other is a fault, for a 400.   AGTP-API §6.4, §10.6, §13.3
 */
import { LRUCache } from "lru-cache";
import { describeValue, isRecord } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { type MeteredCheck, prepareMeteredCheck } from "../../../schema/metered-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { PROPOSED_SCHEMA_BOUNDS } from "../../../schema/schema-bounds.ts";
import { checkSchema } from "../../../schema/schema-check.ts";

/** The two schemas of a proposal. */
export type ProposedPlace = "input_schema" | "output_schema";

export interface ProposedSchemaFault {
  /** A JSON Pointer into the schema; "" for the whole. */
  readonly path: string;
  readonly message: string;
}

/** A compiled schema, or its first fault. */
type ProposedSchemaResult =
  | { readonly schema: CompiledSchema }
  | { readonly fault: ProposedSchemaFault };

/**
 * Reads one schema of a proposal. An input schema must describe closed objects: `additionalProperties` defaults to
 * false and must not be anything else, unless `unevaluatedProperties` is false. An output schema may also be a boolean.
 */
export function readProposedSchema(value: unknown, place: ProposedPlace): ProposedSchemaResult {
  const schemas = createContractSchemas(1);
  const proposed = place === "output_schema" && typeof value === "boolean" ? spell(value) : value;
  if (!isRecord(proposed)) return refuse("", `${describeValue(value)}, expected a JSON Schema`);
  const excess = findProposedExcess(proposed);
  if (excess !== undefined) return refuse("", excess);
  const [fault] = checkSchema(proposed, PROPOSED_SCHEMA_BOUNDS);
  if (fault !== undefined) {
    const hint = fault.hint === undefined ? "" : ` (${fault.hint})`;
    return refuse(fault.pointer, fault.message + hint);
  }
  if (place === "output_schema") return { schema: schemas.compile(proposed) };
  return checkInput(proposed) ?? { schema: schemas.compile(closeInput(proposed)) };
}

/** Converts a boolean to the equivalent object schema, which endpoints have. */
function spell(value: boolean): JsonSchema {
  return value ? {} : { not: {} };
}

function checkInput(schema: JsonSchema): ProposedSchemaResult | undefined {
  const { type, additionalProperties } = schema;
  if (type !== "object") return refuse("/type", `${describeValue(type)}, expected "object"`);
  if (additionalProperties === undefined || additionalProperties === false) return undefined;
  const message = `${describeValue(additionalProperties)}, expected false: an input is closed`;
  return refuse("/additionalProperties", message);
}

function closeInput(schema: JsonSchema): JsonSchema {
  const isClosed =
    schema["additionalProperties"] === false || schema["unevaluatedProperties"] === false;
  return isClosed ? schema : { ...schema, additionalProperties: false };
}

function refuse(path: string, message: string): ProposedSchemaResult {
  return { fault: { path, message } };
}

const MAX_BYTES = 65_536;
/** Sixteen nested schemas take two levels each; the rest is for their values. */
const MAX_NESTING = 64;

/** JSON escapes a lone surrogate; an even number of backslashes before it are escaped themselves. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/**
 * Returns the exceeded limit, or the value that JSON cannot represent, such as an infinite number or an ill-formed
 * text. Examines no more than the limits allow.
 */
function findProposedExcess(schema: object): string | undefined {
  const excess = findLargeOrDeep(schema);
  if (excess !== undefined) return excess;
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > MAX_BYTES) return tooLarge();
  return LONE_SURROGATE.test(text)
    ? "has half of a surrogate pair, expected text that is Unicode"
    : undefined;
}

function findLargeOrDeep(schema: object): string | undefined {
  let level: readonly unknown[] = [schema];
  let size = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === "string") size += value.length;
      if (typeof value === "number" && !Number.isFinite(value)) {
        return "has a number that is too large, expected one that fits 64 bits";
      }
      if (typeof value !== "object" || value === null) continue;
      if (depth === MAX_NESTING)
        return `is nested too deeply, expected at most ${MAX_NESTING} levels`;
      // Listing keys takes a third of the time of reading a million members.
      size += Array.isArray(value) ? value.length : Object.keys(value).length;
      if (size > MAX_BYTES) return tooLarge();
      for (const member of Object.values(value)) next.push(member);
    }
    if (size > MAX_BYTES) return tooLarge();
    level = next;
  }
  return undefined;
}

function tooLarge(): string {
  return `is too large, expected at most ${MAX_BYTES} bytes of JSON`;
}

/**
 * The compiled schemas of one daemon's contracts, which were checked when proposed. Contracts with equal schemas share
 * one, as those of one recipe do. Validators are compiled at the first value and kept by recent use.   AGTP-API
 * §10.5, §13.2
 */
interface ContractSchemas {
  /** Compiles a schema that was checked before. */
  compile(schema: JsonSchema): CompiledSchema;
}

/** A byte of a schema compiles to up to fifty; a pattern also has its cache. */
const MAX_WEIGHT = 4_194_304;
const PATTERN_WEIGHT = 4096;

/** Creates the compiled schemas; `maxPrepared` bounds the shared and the prepared ones. */
export function createContractSchemas(maxPrepared = 1024): ContractSchemas {
  const bounds = { max: maxPrepared, maxSize: MAX_WEIGHT };
  const prepared = new LRUCache<string, MeteredCheck>({
    ...bounds,
    sizeCalculation: (_check, text) => weightOf(text),
  });
  const shared = new LRUCache<string, CompiledSchema>({
    ...bounds,
    sizeCalculation: (_compiled, text) => text.length,
  });
  const compile = (schema: JsonSchema, text: string): CompiledSchema => ({
    schema,
    check(value, _isSmall, sent) {
      const known = prepared.get(text);
      const check = known ?? prepareMeteredCheck(schema);
      if (known === undefined) prepared.set(text, check);
      return check(value, sent);
    },
  });
  return {
    compile: (schema) => {
      const text = JSON.stringify(schema);
      const known = shared.get(text);
      const compiled = known ?? compile(schema, text);
      if (known === undefined) shared.set(text, compiled);
      return compiled;
    },
  };
}

function weightOf(text: string): number {
  return text.length + PATTERN_WEIGHT * (text.split('"pattern').length - 1);
}
