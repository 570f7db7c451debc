/**
 * Violations in words. Callers make the same mistakes over and over, and wording them and writing them
 * as JSON cost more than finding them: what was said last is kept, within bounds, so that a 422 costs
 * no more than an answer.   AGTP-API §13.2
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
const MAX_KEPT_TEXT_LENGTH = 2048;

interface Worded {
  readonly error: SchemaError;
  readonly violation: SchemaViolation;
}

/** Words errors, of whichever schemas; an error like the one before at its place is not worded anew. */
export function createWording(): (error: SchemaError) => SchemaViolation {
  const said = new Map<string, Worded>();
  return (error) => {
    const place = memberOf(error) ?? error.instancePath;
    const known = said.get(place);
    if (known !== undefined && isSameError(known.error, error)) return known.violation;
    const violation = toViolation(error);
    if (place.length + error.instancePath.length > MAX_KEPT_LENGTH) return violation;
    if (said.size >= MAX_KEPT) said.clear();
    said.set(place, { error, violation });
    return violation;
  };
}

function isSameError(one: SchemaError, other: SchemaError): boolean {
  return (
    one.instancePath === other.instancePath &&
    one.keyword === other.keyword &&
    one.message === other.message &&
    one.propertyName === other.propertyName &&
    haveSameMembers(one.params, other.params)
  );
}

/** Lists of a schema, as in `enum`, are the same array in every error about it. */
function haveSameMembers(one: SchemaError["params"], other: SchemaError["params"]): boolean {
  for (const name in one) if (one[name] !== other[name]) return false;
  return true;
}

/** Violations as a refusal tells of them. */
export interface ViolationReport {
  readonly violations: readonly SchemaViolation[];
  /** The first of them, as a sentence. */
  readonly message: string;
  /** All violations, as a JSON array. */
  readonly text: string;
}

/** By the violation they begin with; a report is forgotten with it. */
const reports = new WeakMap<SchemaViolation, ViolationReport>();

/** Reports violations; a report like the one before that began so is not put together anew. */
export function reportViolations(violations: readonly SchemaViolation[]): ViolationReport {
  const [first] = violations;
  if (first === undefined) return { violations, message: "the input is not valid", text: "[]" };
  const known = reports.get(first);
  if (known !== undefined && areSame(known.violations, violations)) return known;
  const message = `${first.path || "/"} ${first.message}`;
  const report = { violations, message, text: JSON.stringify(violations) };
  if (report.text.length <= MAX_KEPT_TEXT_LENGTH) reports.set(first, report);
  return report;
}

function areSame(one: readonly SchemaViolation[], other: readonly SchemaViolation[]): boolean {
  return one.length === other.length && one.every((violation, at) => violation === other[at]);
}
