/**
 * Checks that a schema can be enforced: JSON Schema 2020-12 without unknown keywords or remote
 * references, and within bounds. A schema that passes also compiles. Since callers may propose
 * hostile schemas, the walk stops after twenty faults and never exceeds the depth bound.   AGTP-API
 * §6.4, §10.6
 */
import { suggest } from "../base/close-matches.ts";
import { describeValue, isRecord, quoteValue } from "../base/json-value.ts";
import type { JsonSchema } from "./json-schema.ts";
import { FORMATS } from "./keywords-and-formats.ts";
import { type SchemaBounds, SchemaBudget } from "./schema-bounds.ts";
import {
  below,
  checkReferences,
  type SchemaFault,
  type SchemaNode,
  type SchemaPlace,
} from "./schema-references.ts";
import {
  COMPANIONS,
  checkPlainValue,
  FOREIGN_KEYWORDS,
  IN_PLACE_KEYWORDS,
  KEYWORDS,
  type KeywordValue,
} from "./schema-vocabulary.ts";

/** The maximum number of reported faults. */
const MAX_FAULTS = 20;
const ROOT: SchemaPlace = { key: "", pointer: "" };
const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** Returns at most twenty faults of a schema; empty if it compiles. */
export function checkSchema(schema: JsonSchema, bounds: SchemaBounds): readonly SchemaFault[] {
  const length = schemaText(schema)?.length;
  if (length === undefined || length > bounds.maxLength) {
    const message = `is too large, expected at most ${bounds.maxLength} characters of JSON`;
    return [{ ...ROOT, message }];
  }
  const { $schema, $id, ...nameless } = schema;
  const faults: SchemaFault[] = [];
  if ($schema !== undefined && !(typeof $schema === "string" && DIALECT.test($schema))) {
    const expected = '"https://json-schema.org/draft/2020-12/schema"';
    const message = `${describeValue($schema)}, expected ${expected} or nothing`;
    faults.push({ ...below(ROOT, "$schema"), message });
  }
  if ($id !== undefined && typeof $id !== "string") {
    const message = `${describeValue($id)}, expected a URI`;
    faults.push({ ...below(ROOT, "$id"), message });
  }
  return [...faults, ...new SchemaWalk(bounds).check(nameless)].slice(0, MAX_FAULTS);
}

/** Returns the JSON text of a schema; undefined if it is nested too deeply. */
export function schemaText(schema: JsonSchema): string | undefined {
  try {
    return JSON.stringify(schema);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The compiler also finds names inside extensions, and fails on duplicates. */
const NAMING = /"\$(?:id|anchor|dynamicAnchor)"/;
const DEFINITION = /^\/\$defs\/[^/]+$/;
const ANCHOR = /^[A-Za-z_][A-Za-z0-9._-]*$/;

interface Position extends SchemaPlace {
  readonly depth: number;
}

/** A keyword, with the schema that contains it. */
interface Site {
  readonly at: SchemaPlace;
  readonly schema: SchemaPlace;
  readonly node: SchemaNode;
}

/** Walks through one schema, once. */
class SchemaWalk {
  readonly #bounds: SchemaBounds;
  readonly #budget: SchemaBudget;
  readonly #faults: SchemaFault[] = [];
  readonly #nodes = new Map<string, SchemaNode>();
  /** Pointers of schemas by their anchors. */
  readonly #anchors = new Map<string, string>();

  constructor(bounds: SchemaBounds) {
    this.#bounds = bounds;
    this.#budget = new SchemaBudget(bounds);
  }

  /** Returns the faults of a schema without `$schema` and `$id`. */
  check(schema: JsonSchema): readonly SchemaFault[] {
    this.#visit(schema, { ...ROOT, depth: 0 });
    if (this.#faults.length === 0) {
      const graph = { nodes: this.#nodes, anchors: this.#anchors };
      this.#faults.push(...checkReferences(graph, this.#bounds));
    }
    return this.#faults;
  }

  #fault({ key, pointer }: SchemaPlace, message: string, hint?: string): void {
    this.#faults.push({ key, pointer, message, hint });
  }

  /** Visits a schema: `true`, `false` or an object of keywords. */
  #visit(schema: unknown, at: Position): void {
    const { key, pointer } = at;
    const node: SchemaNode = { key, pointer, children: [], inPlace: [], references: [] };
    this.#nodes.set(at.pointer, node);
    const excess = this.#budget.spendSchema(at.depth);
    if (excess !== undefined) {
      this.#fault(at, excess);
      return;
    }
    if (typeof schema === "boolean") return;
    if (!isRecord(schema)) {
      this.#fault(at, `${describeValue(schema)}, expected a schema`);
      return;
    }
    for (const [keyword, value] of Object.entries(schema)) {
      // Further faults would not be reported, and hints for thousands of keywords take time.
      if (this.#faults.length >= MAX_FAULTS) return;
      this.#visitKeyword(keyword, value, at, node);
      this.#visitCompanions(keyword, schema, at);
    }
  }

  #visitCompanions(keyword: string, schema: JsonSchema, at: SchemaPlace): void {
    const companions = COMPANIONS.get(keyword);
    if (companions === undefined || this.#bounds.isTolerant) return;
    if (companions.some((name) => Object.hasOwn(schema, name))) return;
    this.#fault(below(at, keyword), `means nothing without ${companions.join(" or ")}`);
  }

  #visitKeyword(keyword: string, value: unknown, schema: Position, node: SchemaNode): void {
    const at = below(schema, keyword);
    const expected = KEYWORDS.get(keyword);
    if (expected === undefined) {
      this.#visitUnknown(keyword, value, at);
      return;
    }
    const children = this.#checkValue(expected, value, { at, schema, node });
    for (const [name, child] of children) {
      const place = name === undefined ? at : below(at, name);
      node.children.push(place.pointer);
      if (IN_PLACE_KEYWORDS.has(keyword)) node.inPlace.push(place.pointer);
      this.#visit(child, { ...place, depth: schema.depth + 1 });
    }
    if (keyword === "properties") this.#spend(at, this.#budget.spendProperties(children.length));
  }

  #visitUnknown(keyword: string, value: unknown, at: SchemaPlace): void {
    // Extensions, by convention with this prefix, are meant for other readers.
    if (keyword.startsWith("x-") || this.#budget.takesUnknown(keyword)) {
      if (NAMING.test(JSON.stringify(value))) this.#fault(at, "must not hold $id or $anchor");
      return;
    }
    const hint = FOREIGN_KEYWORDS.get(keyword) ?? suggest(keyword, KEYWORDS.keys());
    this.#fault(at, "unknown keyword", hint);
  }

  /** Checks the value of a keyword; returns its subschemas, by name if they have names. */
  #checkValue(
    expected: KeywordValue,
    value: unknown,
    { at, schema, node }: Site,
  ): readonly (readonly [string | undefined, unknown])[] {
    switch (expected) {
      case "schema":
        return [[undefined, value]];
      case "schema list":
        if (Array.isArray(value) && value.length > 0) {
          return value.map((item: unknown, index) => [String(index), item]);
        }
        this.#fault(at, `${describeValue(value)}, expected a list of schemas`);
        return [];
      case "schema map":
      case "schema map by pattern":
        return this.#schemaMap(value, at, expected === "schema map by pattern");
      case "reference":
        this.#checkReference(value, at, node);
        return [];
      case "anchor":
        this.#checkAnchor(value, at, schema);
        return [];
      case "pattern":
        this.#checkPattern(value, at);
        return [];
      case "format":
        this.#checkFormat(value, at);
        return [];
      default: {
        const kind = checkPlainValue(expected, value);
        if (kind !== undefined) this.#fault(at, `${describeValue(value)}, expected ${kind}`);
        else if (expected === "values" && Array.isArray(value)) {
          this.#spend(at, this.#budget.spendValues(value.length));
        }
        return [];
      }
    }
  }

  /** Reports an exceeded bound. */
  #spend(at: SchemaPlace, excess: string | undefined): void {
    if (excess !== undefined) this.#fault(at, excess);
  }

  #checkReference(value: unknown, at: SchemaPlace, { references }: SchemaNode): void {
    if (typeof value !== "string" || !value.startsWith("#")) {
      const message = `${describeValue(value)}, expected a reference into this schema`;
      this.#fault(at, message, "schemas are never fetched; write #/$defs/name");
      return;
    }
    const excess = this.#budget.spendReference();
    if (excess === undefined) references.push(value);
    else this.#fault(at, excess);
  }

  #checkAnchor(value: unknown, at: SchemaPlace, schema: SchemaPlace): void {
    if (typeof value !== "string" || !ANCHOR.test(value)) {
      const message = `${describeValue(value)}, expected a name of letters, digits, "-", "_", "."`;
      this.#fault(at, message);
    } else if (!DEFINITION.test(schema.pointer)) {
      // The compiler finds anchors only in `$defs`.
      this.#fault(at, "is not in a schema of $defs", "refer to it by its JSON Pointer");
    } else if (this.#anchors.has(value)) {
      this.#fault(at, `${quoteValue(value)} a second time`);
    } else this.#anchors.set(value, schema.pointer);
  }

  #checkPattern(value: unknown, at: SchemaPlace): void {
    if (typeof value === "string") this.#spend(at, this.#budget.spendPattern(value));
    else this.#fault(at, `${describeValue(value)}, expected a regular expression`);
  }

  #checkFormat(value: unknown, at: SchemaPlace): void {
    const isText = typeof value === "string";
    if (isText && (this.#bounds.takesForeignFormats === true || FORMATS.has(value))) return;
    const hint = isText ? suggest(value, FORMATS.keys()) : undefined;
    this.#fault(at, `${describeValue(value)}, expected a known format`, hint);
  }

  #schemaMap(
    value: unknown,
    at: SchemaPlace,
    byPattern: boolean,
  ): readonly (readonly [string, unknown])[] {
    if (!isRecord(value)) {
      this.#fault(at, `${describeValue(value)}, expected a table of schemas`);
      return [];
    }
    const members = Object.entries(value);
    for (const [name] of members) {
      // The compiler ignores this name, so a rule for it would not be enforced.
      if (name === "__proto__") this.#fault(at, '"__proto__" cannot be the name of a property');
      else if (byPattern) this.#checkPattern(name, below(at, name));
    }
    return members;
  }
}
