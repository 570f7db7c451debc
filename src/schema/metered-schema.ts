/**
 * Checks values against schemas from unknown callers without generating code: every keyword is a
 * function, created at the first value, and every step of a check is metered, so that no schema and
 * value together keep the daemon busy for more than a fraction of a second.   AGTP-API §10.6, §13.2
 */
import type { CompiledSchema } from "./compiled-schema.ts";
import type { JsonSchema } from "./json-schema.ts";
import { ARRAY_MAKERS, judgeUnevaluatedItems } from "./judge-arrays.ts";
import { BRANCH_MAKERS } from "./judge-branches.ts";
import { judgeUnevaluatedProperties, OBJECT_MAKERS } from "./judge-objects.ts";
import { judgeType, SCALAR_MAKERS } from "./judge-scalars.ts";
import { type Judge, type JudgeMaker, Judgement, type JudgeSurroundings } from "./judgement.ts";
import { compileLinearRegex, type LinearRegex, type RegexLimits } from "./linear-regex.ts";
import { resolveLocalReference } from "./local-reference.ts";
import {
  type SchemaError,
  type SchemaViolation,
  type SentNames,
  TOO_DEEP,
  toViolation,
  toViolations,
} from "./schema-violation.ts";
import { textPattern } from "./text-pattern.ts";
import { WorkExceeded, WorkMeter } from "./work-meter.ts";

/** Returns at most twenty violations of a value, whose members may be renamed; undefined if it is valid. */
export type MeteredCheck = (
  value: unknown,
  sent?: SentNames,
) => readonly SchemaViolation[] | undefined;

/** The maximum number of units for one check: about a tenth of a second. */
const MAX_WORK = 4_000_000;
const REGEX_LIMITS: RegexLimits = { maxSize: 1024, memoryBytes: 32_768 };

const MAKERS: readonly (readonly [string, JudgeMaker])[] = [
  ...SCALAR_MAKERS,
  ...ARRAY_MAKERS,
  ...OBJECT_MAKERS,
  ...BRANCH_MAKERS,
  // These two depend on what the others have evaluated.
  ["unevaluatedItems", judgeUnevaluatedItems],
  ["unevaluatedProperties", judgeUnevaluatedProperties],
];

const TOO_COSTLY: readonly SchemaViolation[] = [
  { path: "", keyword: "cost", message: "takes too long to check against this schema" },
];

/** The maximum cost of a check, and the compiler of its patterns. */
interface Terms {
  readonly maxWork: number;
  compilePattern(source: string): LinearRegex;
}

const STRANGERS: Terms = {
  maxWork: MAX_WORK,
  compilePattern(source) {
    const result = compileLinearRegex(source, REGEX_LIMITS);
    if (result.kind === "fault")
      throw new Error(`the pattern of a checked schema ${result.message}`);
    return result.regex;
  },
};

/** The terms of an operator's schema, as for the generated validators. */
export const OPERATORS: Terms = {
  maxWork: Number.POSITIVE_INFINITY,
  compilePattern(source) {
    const pattern = textPattern(source, "u");
    return { source, size: 1, test: (text) => pattern.test(text) };
  },
};

/** Prepares the check of a schema that passed `checkSchema`. */
export function prepareMeteredCheck(schema: JsonSchema, terms: Terms = STRANGERS): MeteredCheck {
  const judge = new Preparation(schema, terms).judgeOf(schema);
  return (value, sent) => {
    const findings: SchemaError[] = [];
    try {
      const isValid = judge(value, Judgement.begin(new WorkMeter(terms.maxWork), findings));
      return isValid ? undefined : toViolations(findings, toViolation, sent);
    } catch (error) {
      if (error instanceof WorkExceeded) return TOO_COSTLY;
      // A value to compare with is traversed recursively.
      if (error instanceof RangeError) return TOO_DEEP;
      throw error;
    }
  };
}

/** Returns a checked schema in metered form; its check is prepared at the first value. */
export function meteredSchema(schema: JsonSchema, terms: Terms = STRANGERS): CompiledSchema {
  let check: MeteredCheck | undefined;
  return {
    schema,
    check(value, _isSmall, sent) {
      check ??= prepareMeteredCheck(schema, terms);
      return check(value, sent);
    },
  };
}

/**
 * Keywords, as quoted in a schema's text, that generated validators misjudge: they count members as
 * evaluated that only a failed branch has evaluated, and ignore `contains` beside `prefixItems`.
 */
const MISJUDGED: readonly (readonly string[])[] = [
  ['"unevaluatedProperties":'],
  ['"unevaluatedItems":'],
  ['"contains":', '"prefixItems":'],
];

/**
 * Returns an operator's schema in interpreted form if generated code would misjudge its text.
 * JSON Schema 2020-12 §10, §11
 */
export function interpretedSchema(schema: JsonSchema, text: string): CompiledSchema | undefined {
  const isMisjudged = MISJUDGED.some((keywords) => keywords.every((one) => text.includes(one)));
  return isMisjudged ? meteredSchema(schema, OPERATORS) : undefined;
}

/** Creates the judges of a schema and its subschemas, each once. */
class Preparation {
  readonly #root: JsonSchema;
  readonly #terms: Terms;
  readonly #judges = new Map<object, Judge>();
  readonly #regexes = new Map<string, LinearRegex>();

  constructor(root: JsonSchema, terms: Terms) {
    this.#root = root;
    this.#terms = terms;
  }

  judgeOf(schema: unknown): Judge {
    if (schema === false) return refuseAll;
    if (!isSchema(schema)) return acceptAll;
    const judge = this.#judges.get(schema) ?? this.#prepare(schema);
    this.#judges.set(schema, judge);
    return judge;
  }

  #prepare(schema: JsonSchema): Judge {
    const surroundings: JudgeSurroundings = {
      schema,
      judgeOf: (inner) => this.judgeOf(inner),
      resolve: (reference) => resolveLocalReference(reference, this.#root),
      regexOf: (pattern) => this.#regexOf(pattern),
    };
    const judges: Judge[] = [];
    for (const [keyword, make] of MAKERS) {
      if (!Object.hasOwn(schema, keyword)) continue;
      const judge = make(schema[keyword], surroundings);
      if (judge !== undefined) judges.push(judge);
    }
    const isTracking =
      Object.hasOwn(schema, "unevaluatedItems") || Object.hasOwn(schema, "unevaluatedProperties");
    return judgeByAll(schema["type"], judges, isTracking);
  }

  #regexOf(pattern: string): LinearRegex {
    const known = this.#regexes.get(pattern);
    if (known !== undefined) return known;
    const regex = this.#terms.compilePattern(pattern);
    this.#regexes.set(pattern, regex);
    return regex;
  }
}

function judgeByAll(type: unknown, judges: readonly Judge[], isTracking: boolean): Judge {
  const ofType = type === undefined ? acceptAll : judgeType(type);
  const cost = 4 + 2 * judges.length;
  return (value, outer) => {
    outer.spend(cost);
    if (!ofType(value, outer)) return false;
    const at = isTracking ? outer.tracking() : outer;
    let isValid = true;
    for (const judge of judges) {
      if (judge(value, at)) continue;
      isValid = false;
      if (at.isSettled) break;
    }
    return isValid;
  };
}

function acceptAll(): boolean {
  return true;
}

function refuseAll(_value: unknown, at: Judgement): boolean {
  return at.fail("false schema", "boolean schema is false");
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}
