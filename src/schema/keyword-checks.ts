/**
 * The values of keywords that hold no schema, as far as the whole schema decides about them: are
 * there too many, is a name taken, does the compiler find it?
 */

import { suggest } from "../base/close-matches.ts";
import { describeValue, quoteValue } from "../base/json-value.ts";
import { checkPlainValue, type PlainValue } from "./keyword-value.ts";
import { FORMATS } from "./keywords-and-formats.ts";
import type { SchemaBudget } from "./schema-bounds.ts";
import type { ReportFault, SchemaPlace } from "./schema-place.ts";

const DEFINITION = /^\/\$defs\/[^/]+$/;
const ANCHOR = /^[A-Za-z_][A-Za-z0-9._-]*$/;

/** The checks of one schema. */
export class KeywordChecks {
  readonly #budget: SchemaBudget;
  readonly #report: ReportFault;
  readonly #anchors = new Map<string, string>();

  constructor(budget: SchemaBudget, report: ReportFault) {
    this.#budget = budget;
    this.#report = report;
  }

  /** Pointers of schemas by the anchor that names them. */
  get anchors(): ReadonlyMap<string, string> {
    return this.#anchors;
  }

  /** The local reference that a value is. */
  reference(value: unknown, at: SchemaPlace): string | undefined {
    if (typeof value !== "string" || !value.startsWith("#")) {
      const message = `${describeValue(value)}, expected a reference into this schema`;
      this.#report(at, message, "schemas are never fetched; write #/$defs/name");
      return undefined;
    }
    const fault = this.#budget.spendReference();
    if (fault === undefined) return value;
    this.#report(at, fault);
    return undefined;
  }

  anchor(value: unknown, at: SchemaPlace, schema: SchemaPlace): void {
    if (typeof value !== "string" || !ANCHOR.test(value)) {
      const message = `${describeValue(value)}, expected a name of letters, digits, "-", "_", "."`;
      this.#report(at, message);
    } else if (!DEFINITION.test(schema.pointer)) {
      // Elsewhere the compiler does not find it.
      this.#report(at, "is not in a schema of $defs", "refer to it by its JSON Pointer");
    } else if (this.#anchors.has(value)) {
      this.#report(at, `${quoteValue(value)} a second time`);
    } else this.#anchors.set(value, schema.pointer);
  }

  pattern(value: unknown, at: SchemaPlace): void {
    const fault =
      typeof value === "string"
        ? this.#budget.spendPattern(value)
        : `${describeValue(value)}, expected a regular expression`;
    if (fault !== undefined) this.#report(at, fault);
  }

  format(value: unknown, at: SchemaPlace): void {
    const isTaken = typeof value === "string" && this.#budget.takesForeignFormats;
    if (isTaken || (typeof value === "string" && FORMATS.has(value))) return;
    const hint = typeof value === "string" ? suggest(value, FORMATS.keys()) : undefined;
    this.#report(at, `${describeValue(value)}, expected a known format`, hint);
  }

  plain(expected: PlainValue, value: unknown, at: SchemaPlace): void {
    const kind = checkPlainValue(expected, value);
    const message =
      kind === undefined
        ? this.#listFault(expected, value)
        : `${describeValue(value)}, expected ${kind}`;
    if (message !== undefined) this.#report(at, message);
  }

  #listFault(expected: PlainValue, value: unknown): string | undefined {
    if (expected !== "values" || !Array.isArray(value)) return undefined;
    return this.#budget.spendValues(value.length);
  }
}
