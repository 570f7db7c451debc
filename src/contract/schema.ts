/**
 * Compiles JSON Schema 2020-12. A schema is checked when it is compiled, so that its author hears
 * of every error at start-up; its validator is made at the first value, because making one costs a
 * thousand times what using it costs and most endpoints are idle.   AGTP-API §13.2, §13.3
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Problem } from "../problem.ts";
import type { JsonSchema } from "./endpoint.ts";
import { OPERATOR_SCHEMA_BOUNDS, type SchemaBounds } from "./schema-bounds.ts";
import { checkSchema, type SchemaFault } from "./schema-check.ts";
import { FORMATS } from "./schema-formats.ts";
import { type SchemaViolation, toViolations } from "./schema-violation.ts";
import type { Place } from "./table-reader.ts";
import { UNIQUE_ITEMS } from "./unique-items.ts";

export type { SchemaViolation } from "./schema-violation.ts";

/** A schema that values can be checked against. */
export interface CompiledSchema {
  readonly schema: JsonSchema;
  /** Undefined: the value is valid. At most twenty violations. */
  check(value: unknown): readonly SchemaViolation[] | undefined;
}

/** What compiling a schema gives; without problems there is always a compiled schema. */
export interface CompiledResult {
  readonly compiled?: CompiledSchema;
  readonly problems: readonly Problem[];
}

/**
 * Compiles the schemas of one generation of endpoints. It keeps what it compiled: drop the compiler
 * to drop the schemas, and give callers' proposals compilers of their own.
 */
export interface SchemaCompiler {
  compile(schema: JsonSchema, where: Place): CompiledResult;
}

/** Above this, finding every violation could fill the memory; the first one has to do. */
const MAX_LISTED_NODES = 5000;
const TOO_DEEP: readonly SchemaViolation[] = [
  { path: "", keyword: "depth", message: "is nested too deeply" },
];

/** Creates a compiler; schemas beyond the bounds are problems. */
export function createSchemaCompiler(
  bounds: SchemaBounds = OPERATOR_SCHEMA_BOUNDS,
): SchemaCompiler {
  const validators: Validators = { quick: createValidator(false), thorough: createValidator(true) };
  const known = new Map<string, CompiledSchema>();
  return {
    compile(schema, where) {
      const faults = checkSchema(schema, bounds);
      if (faults.length > 0) return { problems: faults.map((fault) => toProblem(fault, where)) };
      const text = JSON.stringify(schema);
      const compiled = known.get(text) ?? compileLazily(schema, validators);
      known.set(text, compiled);
      return { compiled, problems: [] };
    },
  };
}

interface Validators {
  /** Stops at the first error. */
  readonly quick: () => Ajv2020;
  readonly thorough: () => Ajv2020;
}

/** Everything that strict mode would refuse, `checkSchema` has refused with a better message. */
function createValidator(allErrors: boolean): () => Ajv2020 {
  let validator: Ajv2020 | undefined;
  return () => {
    if (validator !== undefined) return validator;
    validator = new Ajv2020({
      allErrors,
      strict: false,
      meta: false,
      validateSchema: false,
      logger: false,
      // Otherwise a required "constructor" is there already, inherited.
      ownProperties: true,
    });
    validator.removeKeyword("uniqueItems").addKeyword(UNIQUE_ITEMS);
    for (const [name, format] of FORMATS) validator.addFormat(name, format);
    return validator;
  };
}

function compileLazily(schema: JsonSchema, validators: Validators): CompiledSchema {
  // The root's own name matters to other documents only, and two endpoints may use the same.
  const { $id: _id, $schema: _dialect, ...nameless } = schema;
  let isValid: ValidateFunction | undefined;
  let listErrors: ValidateFunction | undefined;
  const check = (value: unknown): readonly SchemaViolation[] | undefined => {
    isValid ??= validators.quick().compile(nameless);
    if (isValid(value)) return undefined;
    const first = isValid.errors ?? [];
    if (hasMoreNodes(value, MAX_LISTED_NODES)) return toViolations(first);
    listErrors ??= validators.thorough().compile(nameless);
    listErrors(value);
    return toViolations(listErrors.errors ?? first);
  };
  return { schema, check: (value) => guardStack(check, value) };
}

/** A recursive schema follows a deep value down; the end of the stack is the value's fault. */
function guardStack(
  check: (value: unknown) => readonly SchemaViolation[] | undefined,
  value: unknown,
): readonly SchemaViolation[] | undefined {
  try {
    return check(value);
  } catch (error) {
    if (error instanceof RangeError) return TOO_DEEP;
    throw error;
  }
}

function hasMoreNodes(value: unknown, limit: number): boolean {
  const pending = [value];
  let nodes = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const members: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    nodes += members.length;
    if (nodes > limit) return true;
    for (const member of members)
      if (typeof member === "object" && member !== null) pending.push(member);
  }
  return false;
}

function toProblem({ key, message, hint }: SchemaFault, where: Place): Problem {
  const place = [where.key, key].filter((part) => part !== "").join(".");
  return { file: where.file, key: place, message, ...(hint === undefined ? {} : { hint }) };
}
