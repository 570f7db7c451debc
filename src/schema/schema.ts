/**
 * Compiles JSON Schema 2020-12. A schema is checked when it is compiled, so that its author sees
 * every error at start-up; its validator is generated at the first value, because that costs a
 * thousand times as much as a check, and most endpoints are idle. Each schema has two validators: a
 * quick one that stops at the first error and gives the verdict, and a thorough one that lists the
 * errors of an invalid value.   AGTP-API §13.2, §13.3
 */
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import type { Place } from "../base/document-place.ts";
import { loadLate } from "../base/late-load.ts";
import type { Paced } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import type { CompiledSchema } from "./compiled-schema.ts";
import { createGenerators } from "./generator.ts";
import { closedObject, type JsonSchema } from "./json-schema.ts";
import { interpretedSchema } from "./metered-schema.ts";
import { OPERATOR_SCHEMA_BOUNDS } from "./schema-bounds.ts";
import { checkSchema, schemaText } from "./schema-check.ts";
import type { SchemaFault } from "./schema-references.ts";
import { TOO_DEEP, toViolations, type Wording } from "./schema-violation.ts";
import { createWording } from "./violation-wording.ts";

export type { CompiledSchema } from "./compiled-schema.ts";
export type { SchemaViolation } from "./schema-violation.ts";

/** The result of compiling a schema; it has a compiled schema if it has no problems. */
interface CompiledResult {
  readonly compiled?: CompiledSchema;
  readonly problems: readonly Problem[];
}

/**
 * Compiles the schemas of one generation of endpoints. It keeps all compiled schemas: drop the
 * compiler to free them, and use separate compilers for callers' proposals.
 */
export interface SchemaCompiler {
  compile(schema: JsonSchema, where: Place): CompiledResult;
}

/** Creates a compiler of an operator's schemas; exceeding the bounds is a problem. */
export function createSchemaCompiler(): SchemaCompiler {
  const createValidator = createValidatorFactory();
  const word = createWording();
  const known = new Map<string, CompiledSchema>();
  const judged: LastJudged = { validate: undefined, value: undefined, errors: [] };
  return {
    compile(schema, where) {
      const text = schemaText(schema);
      const before = text === undefined ? undefined : known.get(text);
      if (before !== undefined) return { compiled: before, problems: [] };
      const faults = checkSchema(schema, OPERATOR_SCHEMA_BOUNDS);
      if (faults.length > 0) return { problems: faults.map((fault) => toProblem(fault, where)) };
      const interpreted = text === undefined ? undefined : interpretedSchema(schema, text);
      const compiled = interpreted ?? compileLazily(schema, createValidator, { word, judged });
      if (text !== undefined) known.set(text, compiled);
      return { compiled, problems: [] };
    },
  };
}

/** A schema with the usual features. */
const USUAL = closedObject({ name: { type: "string", minLength: 1 } }, ["name"]);

/**
 * Warms up the generators of a compiler, one a step, so that the first call of an operator's
 * endpoint does not wait.
 */
export function* preparingGenerators(compiler: SchemaCompiler): Paced<void> {
  const { compiled } = compiler.compile(USUAL, { file: "", key: "" });
  yield;
  compiled?.check({}, true);
  yield;
  compiled?.check({});
}

/**
 * The number of schemas after which a compiler is replaced, since it never drops any, and some
 * schemas name agents of the deployment.
 */
const SCHEMAS_OF_A_COMPILER = 10_000;

let ownCompiler = createSchemaCompiler();
let served = 0;
const ownSchemas = new WeakMap<JsonSchema, CompiledSchema>();

/**
 * Compiles a schema of this program's own, once per process, so that a reload finds its validator.
 * A problem is a bug.
 */
export function compileOwn(schema: JsonSchema): CompiledSchema {
  const known = ownSchemas.get(schema);
  if (known !== undefined) return known;
  served += 1;
  if (served > SCHEMAS_OF_A_COMPILER) {
    ownCompiler = createSchemaCompiler();
    served = 1;
  }
  const { compiled, problems } = ownCompiler.compile(schema, { file: "", key: "" });
  if (compiled === undefined) throw new Error(problems.map(({ message }) => message).join("; "));
  ownSchemas.set(schema, compiled);
  return compiled;
}

/**
 * The last small value with renamed members and its errors, since the same mistake is repeated
 * under other names.
 */
interface LastJudged {
  validate: Validator | undefined;
  value: unknown;
  errors: readonly ErrorObject[];
}

function compileLazily(
  schema: JsonSchema,
  createValidator: ValidatorFactory,
  { word, judged }: { readonly word: Wording; readonly judged: LastJudged },
): CompiledSchema {
  // The root's name matters only to other documents, and two endpoints may share one.
  const { $id: _id, $schema: _dialect, ...nameless } = schema;
  const validate = createValidator(nameless);
  return {
    schema,
    check(value, isSmall, sent) {
      try {
        const isRenamed = isSmall === true && sent !== undefined;
        if (isRenamed && judged.value === value && judged.validate === validate) {
          return toViolations(judged.errors, word, sent);
        }
        const errors = validate(value, isSmall);
        if (errors === undefined) return undefined;
        if (isRenamed) {
          judged.validate = validate;
          judged.value = value;
          judged.errors = errors;
        }
        return toViolations(errors, word, sent);
      } catch (error) {
        // A recursive schema follows a deep value; a stack overflow is the value's fault.
        if (error instanceof RangeError) return TOO_DEEP;
        throw error;
      }
    },
  };
}

function toProblem({ key, message, hint }: SchemaFault, where: Place): Problem {
  const place = [where.key, key].filter((part) => part !== "").join(".");
  return { file: where.file, key: place, message, hint };
}

/**
 * Returns the errors of a value; undefined if it is valid. The errors of a small value are listed
 * at once, so that an invalid one costs no more than a valid one.
 */
type Validator = (value: unknown, isSmall?: boolean) => readonly ErrorObject[] | undefined;

/** Creates the validator of a schema; its code is generated at the first value. */
type ValidatorFactory = (schema: JsonSchema) => Validator;

/** The size above which only the first error is reported, since listing all could fill the memory. */
const MAX_LISTED_NODES = 5000;

const loadAhead = loadLate(async () => (await import("./compiled-ahead.ts")).compiledAhead);
/** Factories of thorough validators, by the text of the schema. */
let compiledAhead: Awaited<ReturnType<typeof loadAhead>> = new Map();

/** Loads the validators of the protocol's own schemas that the build generated. */
export async function loadCompiledAhead(): Promise<void> {
  compiledAhead = await loadAhead().catch(() => compiledAhead);
}

/** Creates a validator factory, which lives as long as its validators. */
function createValidatorFactory(): ValidatorFactory {
  const generatorOf = createGenerators();
  const generate = (schema: JsonSchema, isThorough: boolean): ValidateFunction => {
    const text = JSON.stringify(schema);
    const ahead = isThorough ? compiledAhead.get(text) : undefined;
    return ahead?.(schema) ?? generatorOf(text, isThorough).compile(schema);
  };
  return (schema) => {
    let quick: ValidateFunction | undefined;
    let thorough: ValidateFunction | undefined;
    return (value, isSmall = false) => {
      if (isSmall) {
        thorough ??= generate(schema, true);
        const errors = listErrors(thorough, value);
        if (errors !== "failed") return errors;
      }
      quick ??= generate(schema, false);
      if (quick(value)) return undefined;
      const first = quick.errors ?? [];
      if (isSmall || hasMoreNodes(value, MAX_LISTED_NODES)) return first;
      thorough ??= generate(schema, true);
      const errors = listErrors(thorough, value);
      return errors === "failed" ? first : (errors ?? first);
    };
  };
}

/** Lists the errors; "failed" if the listing itself throws, so that the quick validator's error has to do. */
function listErrors(
  thorough: ValidateFunction,
  value: unknown,
): readonly ErrorObject[] | "failed" | undefined {
  try {
    return thorough(value) ? undefined : (thorough.errors ?? []);
  } catch {
    return "failed";
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
    pending.push(...members.filter((member) => typeof member === "object"));
  }
  return false;
}
