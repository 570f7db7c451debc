/**
 * Violations in words, each worded once. Callers make the same mistakes over and over, and wording one
 * and writing it as JSON cost more than finding it: what was said of a member last is kept with its
 * text, so that a 422 costs no more than an answer.   AGTP-API §13.2
 */
import {
  memberOf,
  type SchemaError,
  type SchemaViolation,
  toViolation,
} from "./schema-violation.ts";

/** Members are named by callers too, who shall not fill the memory with them. */
const MAX_KEPT = 1024;
const MAX_KEPT_LENGTH = 128;

/** A violation that knows the error it words and its own JSON. */
class WordedViolation implements SchemaViolation {
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
  readonly #error: SchemaError;
  readonly #json: string;

  constructor(error: SchemaError) {
    const violation = toViolation(error);
    this.path = violation.path;
    this.keyword = violation.keyword;
    this.message = violation.message;
    this.#error = error;
    this.#json = JSON.stringify(violation);
  }

  static jsonOf(violation: SchemaViolation): string {
    return #json in violation ? violation.#json : JSON.stringify(violation);
  }

  words(error: SchemaError): boolean {
    const known = this.#error;
    return (
      known.instancePath === error.instancePath &&
      known.keyword === error.keyword &&
      known.message === error.message &&
      known.propertyName === error.propertyName &&
      haveSameMembers(known.params, error.params)
    );
  }
}

/** Lists of a schema, as in `enum`, are the same array in every error about it. */
function haveSameMembers(one: SchemaError["params"], other: SchemaError["params"]): boolean {
  for (const name in one) if (one[name] !== other[name]) return false;
  return true;
}

/** Words errors, of whichever schemas. */
export function createWording(): (error: SchemaError) => SchemaViolation {
  const said = new Map<string, WordedViolation>();
  return (error) => {
    const place = memberOf(error) ?? error.instancePath;
    const known = said.get(place);
    if (known?.words(error)) return known;
    if (place.length + error.instancePath.length > MAX_KEPT_LENGTH) return toViolation(error);
    const violation = new WordedViolation(error);
    if (said.size >= MAX_KEPT) said.clear();
    said.set(place, violation);
    return violation;
  };
}

/** Violations as a refusal tells of them. */
export interface ViolationReport {
  readonly violations: readonly SchemaViolation[];
  /** The first of them, as a sentence. */
  readonly message: string;
  /** All of them, as a JSON array. */
  readonly text: string;
}

let last = report([]);

/** Reports violations; a report like the last one is not put together again. */
export function reportViolations(violations: readonly SchemaViolation[]): ViolationReport {
  const known = last.violations;
  const isKnown =
    violations.length === known.length &&
    violations.every((violation, index) => violation === known[index]);
  if (!isKnown) last = report(violations);
  return last;
}

function report(violations: readonly SchemaViolation[]): ViolationReport {
  const [first] = violations;
  const message =
    first === undefined ? "the input is not valid" : `${first.path || "/"} ${first.message}`;
  return { violations, message, text: `[${violations.map(WordedViolation.jsonOf).join()}]` };
}
