/**
 * The walk through a schema: every keyword is known, every value is of its keyword's kind, nothing
 * exceeds the bounds. It stops after twenty faults, and never goes deeper than the bounds allow.
 */
import { suggest } from "../base/close-matches.ts";
import { describeValue, isRecord, quoteValue } from "../base/json-value.ts";
import type { JsonSchema } from "./json-schema.ts";
import { FORMATS } from "./keywords-and-formats.ts";
import { type SchemaBounds, SchemaBudget } from "./schema-bounds.ts";
import { below, type ReportFault, type SchemaFault, type SchemaPlace } from "./schema-place.ts";
import { checkReferences, type SchemaNode } from "./schema-references.ts";
import {
  COMPANIONS,
  checkPlainValue,
  FOREIGN_KEYWORDS,
  IN_PLACE_KEYWORDS,
  KEYWORDS,
  type KeywordValue,
  type PlainValue,
} from "./schema-vocabulary.ts";

const DEFINITION = /^\/\$defs\/[^/]+$/;
const ANCHOR = /^[A-Za-z_][A-Za-z0-9._-]*$/;

class KeywordChecks {
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

/** The compiler looks for names in extensions too, and stumbles over two that are alike. */
const NAMING = /"\$(?:id|anchor|dynamicAnchor)"/;
/** Nobody reads more about one schema. */
export const MAX_FAULTS = 20;

interface Position extends SchemaPlace {
  readonly depth: number;
}

/** A keyword, and the schema that it stands in. */
interface Site {
  readonly at: SchemaPlace;
  readonly schema: SchemaPlace;
  readonly node: SchemaNode;
}

/** Goes through a schema once; each walk is for one schema. */
export class SchemaWalk {
  readonly #bounds: SchemaBounds;
  readonly #budget: SchemaBudget;
  readonly #faults: SchemaFault[] = [];
  readonly #nodes = new Map<string, SchemaNode>();
  readonly #checks: KeywordChecks;

  constructor(bounds: SchemaBounds) {
    this.#bounds = bounds;
    this.#budget = new SchemaBudget(bounds);
    this.#checks = new KeywordChecks(this.#budget, (...fault) => this.#fault(...fault));
  }

  /** Everything that is wrong with a schema without `$schema` and `$id`. */
  check(schema: JsonSchema): readonly SchemaFault[] {
    this.#visit(schema, { key: "", pointer: "", depth: 0 });
    if (this.#faults.length === 0) {
      const graph = { nodes: this.#nodes, anchors: this.#checks.anchors };
      this.#faults.push(...checkReferences(graph, this.#bounds));
    }
    return this.#faults;
  }

  #fault({ key, pointer }: SchemaPlace, message: string, hint?: string): void {
    this.#faults.push({ key, pointer, message, ...(hint === undefined ? {} : { hint }) });
  }

  /** One schema: `true`, `false` or an object of keywords. */
  #visit(schema: unknown, at: Position): void {
    const node: SchemaNode = {
      key: at.key,
      pointer: at.pointer,
      children: [],
      inPlace: [],
      references: [],
    };
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
      // Nobody is told more, and working out hints for thousands of keywords takes its time.
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
    const fault = keyword === "properties" && this.#budget.spendProperties(children.length);
    if (fault) this.#fault(at, fault);
  }

  #visitUnknown(keyword: string, value: unknown, at: SchemaPlace): void {
    // Extensions are for other readers, by convention under this prefix.
    if (keyword.startsWith("x-") || this.#budget.takesUnknown(keyword)) {
      if (NAMING.test(JSON.stringify(value))) this.#fault(at, "must not hold $id or $anchor");
      return;
    }
    const hint = FOREIGN_KEYWORDS.get(keyword) ?? suggest(keyword, KEYWORDS.keys());
    this.#fault(at, "unknown keyword", hint);
  }

  /** Checks the value of a keyword; answers the schemas in it, by name where they have one. */
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
      case "reference": {
        const reference = this.#checks.reference(value, at);
        if (reference !== undefined) node.references.push(reference);
        return [];
      }
      case "anchor":
        this.#checks.anchor(value, at, schema);
        return [];
      case "pattern":
        this.#checks.pattern(value, at);
        return [];
      case "format":
        this.#checks.format(value, at);
        return [];
      default:
        this.#checks.plain(expected, value, at);
        return [];
    }
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
      // The compiler passes this name over, so a rule about it would never be enforced.
      if (name === "__proto__") this.#fault(at, '"__proto__" cannot be the name of a property');
      else if (byPattern) this.#checks.pattern(name, below(at, name));
    }
    return members;
  }
}
