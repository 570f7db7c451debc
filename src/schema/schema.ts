/**
 * Compiles JSON Schema 2020-12. A schema is checked when it is compiled, so that its author hears
 * of every error at start-up; its validator is made at the first value, because making one costs a
 * thousand times what using it costs and most endpoints are idle.   AGTP-API §13.2, §13.3
 */

import type { Place } from "../base/document-place.ts";
import type { Problem } from "../base/problem.ts";
import type { JsonSchema } from "./json-schema.ts";
import { OPERATOR_SCHEMA_BOUNDS, type SchemaBounds } from "./schema-bounds.ts";
import { checkSchema } from "./schema-check.ts";
import type { SchemaFault } from "./schema-place.ts";
import { type SchemaError, type SchemaViolation, toViolations } from "./schema-violation.ts";
import { createValidatorFactory, type ValidatorFactory } from "./validator.ts";
import { createWording } from "./violation-wording.ts";

export type { SchemaViolation } from "./schema-violation.ts";

/** A schema that values can be checked against. */
export interface CompiledSchema {
  readonly schema: JsonSchema;
  /**
   * Undefined: the value is valid. At most twenty violations. `isSmall` promises fewer than 5,000
   * members and items in all.
   */
  check(value: unknown, isSmall?: boolean): readonly SchemaViolation[] | undefined;
}

/** The result of compiling a schema; without problems there is always a compiled schema. */
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

const TOO_DEEP: readonly SchemaViolation[] = [
  { path: "", keyword: "depth", message: "is nested too deeply" },
];

/** Creates a compiler; schemas beyond the bounds are problems. */
export function createSchemaCompiler(
  bounds: SchemaBounds = OPERATOR_SCHEMA_BOUNDS,
): SchemaCompiler {
  const createValidator = createValidatorFactory();
  const word = createWording();
  const known = new Map<string, CompiledSchema>();
  return {
    compile(schema, where) {
      const text = textOf(schema);
      const before = text === undefined ? undefined : known.get(text);
      if (before !== undefined) return { compiled: before, problems: [] };
      const faults = checkSchema(schema, bounds);
      if (faults.length > 0) return { problems: faults.map((fault) => toProblem(fault, where)) };
      const compiled = compileLazily(schema, createValidator, word);
      if (text !== undefined) known.set(text, compiled);
      return { compiled, problems: [] };
    },
  };
}

/** Undefined: it is nested too deeply to be written down. */
function textOf(schema: JsonSchema): string | undefined {
  try {
    return JSON.stringify(schema);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function compileLazily(
  schema: JsonSchema,
  createValidator: ValidatorFactory,
  word: (error: SchemaError) => SchemaViolation,
): CompiledSchema {
  // The root's own name matters to other documents only, and two endpoints may use the same.
  const { $id: _id, $schema: _dialect, ...nameless } = schema;
  const validate = createValidator(nameless);
  return {
    schema,
    check(value, isSmall) {
      try {
        const errors = validate(value, isSmall);
        return errors && toViolations(errors, word);
      } catch (error) {
        // A recursive schema follows a deep value down; the end of the stack is the value's fault.
        if (error instanceof RangeError) return TOO_DEEP;
        throw error;
      }
    },
  };
}

function toProblem({ key, message, hint }: SchemaFault, where: Place): Problem {
  const place = [where.key, key].filter((part) => part !== "").join(".");
  return { file: where.file, key: place, message, ...(hint === undefined ? {} : { hint }) };
}
