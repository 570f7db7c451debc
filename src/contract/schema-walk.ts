/**
 * The walk through a schema: every keyword is known, every value is of its keyword's kind, nothing
 * exceeds the bounds. It stops after twenty faults, and never goes deeper than the bounds allow.
 */
import { suggest } from "../catalog/close-matches.ts";
import { joinKey } from "../dotted-key.ts";
import { describeValue, isRecord, quoteValue } from "../json-value.ts";
import type { JsonSchema } from "./endpoint.ts";
import { checkPlainValue, isPattern } from "./keyword-value.ts";
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

/** What is wrong with a schema, below which dotted key; "" is the schema itself. */
export interface SchemaFault {
  readonly key: string;
  readonly message: string;
  readonly hint?: string;
}

const DEFINITION = /^\/\$defs\/[^/]+$/;
const ANCHOR = /^[A-Za-z_][A-Za-z0-9._-]*$/;
/** The compiler looks for names in extensions too, and stumbles over two that are alike. */
const NAMING = /"\$(?:id|anchor|dynamicAnchor)"/;
/** Nobody reads more about one schema. */
export const MAX_FAULTS = 20;

interface Position {
  readonly key: string;
  readonly pointer: string;
  readonly depth: number;
}

/** A keyword: its dotted key, and the schema that it stands in. */
interface Site {
  readonly key: string;
  readonly pointer: string;
  readonly node: SchemaNode;
}

/** Goes through a schema once; each walk is for one schema. */
export class SchemaWalk {
  readonly #budget: SchemaBudget;
  readonly #faults: SchemaFault[] = [];
  readonly #nodes = new Map<string, SchemaNode>();
  readonly #anchors = new Map<string, string>();

  constructor(bounds: SchemaBounds) {
    this.#budget = new SchemaBudget(bounds);
  }

  /** Everything that is wrong with a schema without `$schema` and `$id`. */
  check(schema: JsonSchema): readonly SchemaFault[] {
    this.#visit(schema, { key: "", pointer: "", depth: 0 });
    if (this.#faults.length === 0) {
      this.#faults.push(...checkReferences({ nodes: this.#nodes, anchors: this.#anchors }));
    }
    return this.#faults;
  }

  #fault(key: string, message: string, hint?: string): void {
    this.#faults.push({ key, message, ...(hint === undefined ? {} : { hint }) });
  }

  /** One schema: `true`, `false` or an object of keywords. */
  #visit(schema: unknown, at: Position): void {
    const node: SchemaNode = { key: at.key, children: [], inPlace: [], references: [] };
    this.#nodes.set(at.pointer, node);
    if (typeof schema === "boolean") return;
    if (!isRecord(schema)) {
      this.#fault(at.key, `${describeValue(schema)}, expected a schema`);
      return;
    }
    const tooDeep = this.#budget.spendDepth(at.depth);
    if (tooDeep !== undefined) {
      this.#fault(at.key, tooDeep);
      return;
    }
    for (const [keyword, value] of Object.entries(schema)) {
      // Nobody is told more, and working out hints for thousands of keywords takes its time.
      if (this.#faults.length >= MAX_FAULTS) return;
      this.#visitKeyword(keyword, value, at, node);
      const companions = COMPANIONS.get(keyword);
      if (companions !== undefined && !companions.some((name) => Object.hasOwn(schema, name))) {
        const message = `means nothing without ${companions.join(" or ")}`;
        this.#fault(joinKey(at.key, keyword), message);
      }
    }
  }

  #visitKeyword(keyword: string, value: unknown, at: Position, node: SchemaNode): void {
    const key = joinKey(at.key, keyword);
    const expected = KEYWORDS.get(keyword);
    if (expected === undefined) {
      // Extensions are for other readers, by convention under this prefix.
      if (keyword.startsWith("x-")) {
        if (NAMING.test(JSON.stringify(value))) this.#fault(key, "must not hold $id or $anchor");
        return;
      }
      const hint = FOREIGN_KEYWORDS.get(keyword) ?? suggest(keyword, KEYWORDS.keys());
      this.#fault(key, "unknown keyword", hint);
      return;
    }
    const children = this.#checkValue(expected, value, { key, pointer: at.pointer, node });
    for (const [name, child] of children) {
      const path = name === undefined ? [keyword] : [keyword, name];
      const pointer = `${at.pointer}/${path.map(escapeToken).join("/")}`;
      node.children.push(pointer);
      if (IN_PLACE_KEYWORDS.has(keyword)) node.inPlace.push(pointer);
      const childKey = name === undefined ? key : joinKey(key, name);
      this.#visit(child, { key: childKey, pointer, depth: at.depth + 1 });
    }
    const fault = keyword === "properties" && this.#budget.spendProperties(children.length);
    if (fault) this.#fault(key, fault);
  }

  /** Checks the value of a keyword; answers the schemas in it, by name where they have one. */
  #checkValue(
    expected: KeywordValue,
    value: unknown,
    { key, pointer, node }: Site,
  ): readonly (readonly [string | undefined, unknown])[] {
    switch (expected) {
      case "schema":
        return [[undefined, value]];
      case "schema list":
        if (Array.isArray(value) && value.length > 0) {
          return value.map((item: unknown, index) => [String(index), item]);
        }
        this.#fault(key, `${describeValue(value)}, expected a list of schemas`);
        return [];
      case "schema map":
      case "schema map by pattern":
        return this.#schemaMap(value, key, expected === "schema map by pattern");
      case "reference":
        this.#checkReference(value, key, node);
        return [];
      case "anchor":
        this.#checkAnchor(value, key, pointer);
        return [];
      case "pattern":
        this.#checkPattern(value, key);
        return [];
      case "format":
        this.#checkFormat(value, key);
        return [];
      default: {
        const fault = checkPlainValue(expected, value);
        if (fault !== undefined) this.#fault(key, `${describeValue(value)}, expected ${fault}`);
        return [];
      }
    }
  }

  #schemaMap(
    value: unknown,
    key: string,
    byPattern: boolean,
  ): readonly (readonly [string, unknown])[] {
    if (!isRecord(value)) {
      this.#fault(key, `${describeValue(value)}, expected a table of schemas`);
      return [];
    }
    const members = Object.entries(value);
    for (const [name] of members) {
      // The compiler passes this name over, so a rule about it would never be enforced.
      if (name === "__proto__") this.#fault(key, '"__proto__" cannot be the name of a property');
      else if (byPattern) this.#checkPattern(name, joinKey(key, name));
    }
    return members;
  }

  #checkReference(value: unknown, key: string, node: SchemaNode): void {
    if (typeof value !== "string" || !value.startsWith("#")) {
      const message = `${describeValue(value)}, expected a reference into this schema`;
      this.#fault(key, message, "schemas are never fetched; write #/$defs/name");
      return;
    }
    const fault = this.#budget.spendReference();
    if (fault === undefined) node.references.push(value);
    else this.#fault(key, fault);
  }

  #checkAnchor(value: unknown, key: string, pointer: string): void {
    if (typeof value !== "string" || !ANCHOR.test(value)) {
      this.#fault(
        key,
        `${describeValue(value)}, expected a name of letters, digits, "-", "_", "."`,
      );
    } else if (!DEFINITION.test(pointer)) {
      // Elsewhere the compiler does not find it.
      this.#fault(key, "is not in a schema of $defs", "refer to it by its JSON Pointer");
    } else if (this.#anchors.has(value)) {
      this.#fault(key, `${quoteValue(value)} a second time`);
    } else this.#anchors.set(value, pointer);
  }

  #checkPattern(value: unknown, key: string): void {
    if (typeof value !== "string") {
      this.#fault(key, `${describeValue(value)}, expected a regular expression`);
      return;
    }
    const fault = this.#budget.spendPattern(value.length);
    if (fault !== undefined) this.#fault(key, fault);
    else if (!isPattern(value)) this.#fault(key, `${quoteValue(value)} is no regular expression`);
  }

  #checkFormat(value: unknown, key: string): void {
    if (typeof value === "string" && FORMATS.has(value)) return;
    const hint = typeof value === "string" ? suggest(value, FORMATS.keys()) : undefined;
    this.#fault(key, `${describeValue(value)}, expected a known format`, hint);
  }
}

function escapeToken(token: string): string {
  return token.replaceAll("~", "~0").replaceAll("/", "~1");
}
