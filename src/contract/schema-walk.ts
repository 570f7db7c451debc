/**
 * The walk through a schema: every keyword is known, every value is of its keyword's kind, nothing
 * exceeds the bounds. It stops after twenty faults, and never goes deeper than the bounds allow.
 */
import { suggest } from "../catalog/close-matches.ts";
import { joinKey } from "../dotted-key.ts";
import { describeValue, isRecord, quoteValue } from "../json-value.ts";
import type { JsonSchema } from "./endpoint.ts";
import { checkPlainValue } from "./keyword-value.ts";
import { type SchemaBounds, SchemaBudget } from "./schema-bounds.ts";
import { FORMATS } from "./schema-formats.ts";
import { checkReferences, type SchemaNode } from "./schema-references.ts";
import {
  COMPANIONS,
  FOREIGN_KEYWORDS,
  IN_PLACE_KEYWORDS,
  KEYWORDS,
  type KeywordValue,
} from "./schema-vocabulary.ts";

/** A place in a schema; "" is the schema itself. */
export interface SchemaPlace {
  /** Dotted key, as messages about files have it. */
  readonly key: string;
  /** JSON Pointer, as messages about bodies have it. */
  readonly pointer: string;
}

/** What is wrong with a schema, and where. */
export interface SchemaFault extends SchemaPlace {
  readonly message: string;
  readonly hint?: string;
}

const DEFINITION = /^\/\$defs\/[^/]+$/;
const ANCHOR = /^[A-Za-z_][A-Za-z0-9._-]*$/;
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
  readonly #anchors = new Map<string, string>();

  constructor(bounds: SchemaBounds) {
    this.#bounds = bounds;
    this.#budget = new SchemaBudget(bounds);
  }

  /** Everything that is wrong with a schema without `$schema` and `$id`. */
  check(schema: JsonSchema): readonly SchemaFault[] {
    this.#visit(schema, { key: "", pointer: "", depth: 0 });
    if (this.#faults.length === 0) {
      const graph = { nodes: this.#nodes, anchors: this.#anchors };
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
      const companions = COMPANIONS.get(keyword);
      if (companions !== undefined && !companions.some((name) => Object.hasOwn(schema, name))) {
        const message = `means nothing without ${companions.join(" or ")}`;
        this.#fault(below(at, keyword), message);
      }
    }
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
      case "reference":
        this.#checkReference(value, at, node);
        return [];
      case "anchor":
        this.#checkAnchor(value, at, schema.pointer);
        return [];
      case "pattern":
        this.#checkPattern(value, at);
        return [];
      case "format":
        this.#checkFormat(value, at);
        return [];
      default: {
        const fault = checkPlainValue(expected, value);
        if (fault !== undefined) this.#fault(at, `${describeValue(value)}, expected ${fault}`);
        else this.#spendValues(expected, value, at);
        return [];
      }
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
      else if (byPattern) this.#checkPattern(name, below(at, name));
    }
    return members;
  }

  #checkReference(value: unknown, at: SchemaPlace, node: SchemaNode): void {
    if (typeof value !== "string" || !value.startsWith("#")) {
      const message = `${describeValue(value)}, expected a reference into this schema`;
      this.#fault(at, message, "schemas are never fetched; write #/$defs/name");
      return;
    }
    const fault = this.#budget.spendReference();
    if (fault === undefined) node.references.push(value);
    else this.#fault(at, fault);
  }

  #checkAnchor(value: unknown, at: SchemaPlace, pointer: string): void {
    if (typeof value !== "string" || !ANCHOR.test(value)) {
      this.#fault(at, `${describeValue(value)}, expected a name of letters, digits, "-", "_", "."`);
    } else if (!DEFINITION.test(pointer)) {
      // Elsewhere the compiler does not find it.
      this.#fault(at, "is not in a schema of $defs", "refer to it by its JSON Pointer");
    } else if (this.#anchors.has(value)) {
      this.#fault(at, `${quoteValue(value)} a second time`);
    } else this.#anchors.set(value, pointer);
  }

  #checkPattern(value: unknown, at: SchemaPlace): void {
    if (typeof value !== "string") {
      this.#fault(at, `${describeValue(value)}, expected a regular expression`);
      return;
    }
    const fault = this.#budget.spendPattern(value);
    if (fault !== undefined) this.#fault(at, fault);
  }

  #spendValues(expected: KeywordValue, value: unknown, at: SchemaPlace): void {
    if (expected !== "values" || !Array.isArray(value)) return;
    const fault = this.#budget.spendValues(value.length);
    if (fault !== undefined) this.#fault(at, fault);
  }

  #checkFormat(value: unknown, at: SchemaPlace): void {
    if (typeof value === "string" && FORMATS.has(value)) return;
    const hint = typeof value === "string" ? suggest(value, FORMATS.keys()) : undefined;
    this.#fault(at, `${describeValue(value)}, expected a known format`, hint);
  }
}

function below({ key, pointer }: SchemaPlace, name: string): SchemaPlace {
  const token = name.replaceAll("~", "~0").replaceAll("/", "~1");
  return { key: joinKey(key, name), pointer: `${pointer}/${token}` };
}
