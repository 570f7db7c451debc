/**
 * Words violations. Callers repeat the same mistakes, and wording and encoding them costs more than
 * finding them, so the last results are cached within bounds, and a 422 costs no more than an
 * answer.   AGTP-API §13.2
 */
import { flatText } from "../base/kept-text.ts";
import {
  memberOf,
  type SchemaError,
  type SchemaViolation,
  sentNameOf,
  toViolation,
  violationOf,
  WordedViolation,
  type Wording,
} from "./schema-violation.ts";

const { isKept, openingOf, sentenceOf, textOf: violationText } = WordedViolation;

/** The maximum number of cached errors, since callers choose the members' names. */
const MAX_KEPT = 1024;
const MAX_KEPT_LENGTH = 128;
const MAX_KEPT_TEXT_LENGTH = 2048;

interface Worded {
  readonly error: SchemaError;
  readonly violation: SchemaViolation;
}

/** Creates the wording of errors, for any schema; an error like the last one at its place is reused. */
export function createWording(): Wording {
  const said = new Map<string, Worded>();
  const wordUndeclared = createUndeclaredWording();
  return (error, sent) => {
    const member = memberOf(error);
    const name = sentNameOf(error, member, sent);
    if (name !== undefined) return wordUndeclared(error, name);
    const place = member ?? error.instancePath;
    const known = said.get(place);
    if (known !== undefined && isSameError(known.error, error)) return known.violation;
    const violation = toViolation(error);
    if (place.length + error.instancePath.length > MAX_KEPT_LENGTH) return violation;
    if (said.size >= MAX_KEPT) said.clear();
    WordedViolation.keep(violation);
    said.set(place, { error, violation });
    return violation;
  };
}

interface UndeclaredMember {
  readonly name: string;
  readonly violation: WordedViolation;
}

/** Direct-mapped: a new entry overwrites the old one in its slot, so lookups never probe. */
const UNDECLARED_SLOTS = 64;

/** Words undeclared members by the names that were sent. */
function createUndeclaredWording(): (error: SchemaError, name: string) => SchemaViolation {
  const slots = new Array<UndeclaredMember | undefined>(UNDECLARED_SLOTS).fill(undefined);
  return (error, name) => {
    const last = name.length - 1;
    const slot = (name.length + name.charCodeAt(0) * 7 + name.charCodeAt(last) * 13) & 63;
    const known = slots[slot];
    if (known?.name === name) {
      WordedViolation.keep(known.violation);
      return known.violation;
    }
    const violation = violationOf(error, name);
    if (name.length <= MAX_KEPT_LENGTH) slots[slot] = { name, violation };
    return violation;
  };
}

function isSameError(one: SchemaError, other: SchemaError): boolean {
  return (
    one.instancePath === other.instancePath &&
    one.keyword === other.keyword &&
    one.message === other.message &&
    one.propertyName === other.propertyName &&
    haveSameParameters(one, other)
  );
}

/** Compares by identity, since a schema's lists, as in `enum`, are the same array in each error. */
function haveSameParameters({ keyword, params: one }: SchemaError, other: SchemaError): boolean {
  const { params } = other;
  // The most common error; iterating over its only member would cost more than the rest.
  if (keyword === "required") return one["missingProperty"] === params["missingProperty"];
  for (const name in one) if (one[name] !== params[name]) return false;
  return true;
}

interface ViolationReport {
  readonly violations: readonly SchemaViolation[];
  /** The first violation as a sentence. */
  readonly message: string;
  /** The members `message` and `details` of an error as JSON, without braces. */
  readonly text: string;
}

const NOTHING_SAID: ViolationReport = {
  violations: [],
  message: "the input is not valid",
  text: '"message":"the input is not valid","details":{"errors":[]}',
};

/** Reports by their first violation, and dropped with it. */
const reports = new WeakMap<SchemaViolation, KeptReport>();

/** A cached report, with the end of each violation in its text. */
interface KeptReport extends ViolationReport {
  readonly ends: readonly number[];
}

/**
 * Reports violations. An equal report is reused, and one that starts with the same violations is
 * built only from the first difference.
 */
export function reportViolations(violations: readonly SchemaViolation[]): ViolationReport {
  const [first] = violations;
  if (first === undefined) return NOTHING_SAID;
  const known = reports.get(first);
  const same = known === undefined ? 0 : countSame(known.violations, violations);
  if (same === violations.length && same === known?.violations.length) return known;
  let text = known === undefined ? openingOf(first) : known.text.slice(0, known.ends[same - 1]);
  let isLasting = true;
  for (let at = same; at < violations.length; at += 1) {
    const violation = violations[at]!;
    text += at === 0 ? violationText(violation) : `,${violationText(violation)}`;
    isLasting &&= isKept(violation);
  }
  text += "]}";
  const message = known?.message ?? sentenceOf(first);
  const report = { violations, message, text };
  if (isLasting && text.length <= MAX_KEPT_TEXT_LENGTH) keepReport(first, report);
  return report;
}

function keepReport(first: SchemaViolation, { violations, message, text }: ViolationReport): void {
  let end = openingOf(first).length - 1;
  const ends = violations.map((violation) => {
    end += violationText(violation).length + 1;
    return end;
  });
  reports.set(first, { violations, message: flatText(message), text: flatText(text), ends });
}

/** Returns the number of equal violations at the start of both lists. */
function countSame(one: readonly SchemaViolation[], other: readonly SchemaViolation[]): number {
  const most = Math.min(one.length, other.length);
  let same = 0;
  while (same < most && one[same] === other[same]) same += 1;
  return same;
}
