/**
 * Makes validators out of checked schemas. There are two for a schema: a quick one that stops at
 * the first error and gives the verdict, and a thorough one that lists the errors of a value that
 * is invalid already.   AGTP-API §13.2
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { EQUALITY_KEYWORDS } from "./equality-keywords.ts";
import type { JsonSchema } from "./json-schema.ts";
import { MULTIPLE_OF } from "./multiple-of.ts";
import { FORMATS } from "./schema-formats.ts";
import { TEXT_PATTERNS } from "./text-pattern.ts";

/**
 * Finds what is wrong with a value; undefined: nothing. Of a value known to be small the errors are
 * listed at once, so that a bad one costs no more than a good one.
 */
export type Validator = (value: unknown, isSmall?: boolean) => readonly ErrorObject[] | undefined;

/** Makes the validator of a schema; the code behind it is generated at its first value. */
export type ValidatorFactory = (schema: JsonSchema) => Validator;

/** Above this, finding every error could fill the memory; the first one has to do. */
const MAX_LISTED_NODES = 5000;

/** Creates a factory; what it makes lives as long as it. */
export function createValidatorFactory(): ValidatorFactory {
  const generators = new Map<string, Ajv2020>();
  const generate = (schema: JsonSchema, isThorough: boolean): ValidateFunction => {
    const tracksMembers = JSON.stringify(schema).includes('"unevaluated');
    const name = `${isThorough} ${tracksMembers}`;
    const generator = generators.get(name) ?? createGenerator(isThorough, tracksMembers);
    generators.set(name, generator);
    return generator.compile(schema);
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

/** Everything that strict mode would refuse, `checkSchema` has refused with a better message. */
function createGenerator(allErrors: boolean, tracksMembers: boolean): Ajv2020 {
  const generator = new Ajv2020({
    allErrors,
    strict: false,
    // 1e999 is JSON, and no number that anybody could store or send on.
    strictNumbers: true,
    meta: false,
    validateSchema: false,
    logger: false,
    // Otherwise a required "constructor" is there already, inherited.
    ownProperties: true,
    // The optimizer drops declarations that `unevaluatedProperties` needs; V8 has one anyway.
    code: { optimize: false, regExp: TEXT_PATTERNS },
  });
  // Tracking which members were looked at costs time, and is needed by two keywords only.
  generator.opts.unevaluated = tracksMembers;
  for (const definition of [...EQUALITY_KEYWORDS, MULTIPLE_OF]) {
    generator.removeKeyword(definition.keyword).addKeyword(definition);
  }
  for (const [name, format] of FORMATS) generator.addFormat(name, format);
  return generator;
}

/** "failed": listing trips over itself, and the quick validator has to give the verdict. */
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
