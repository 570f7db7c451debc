/**
 * Reads the schemas of a document as JSON Schema 2020-12 in the vocabulary of endpoints: the
 * dialect of OpenAPI 3.0 is translated, and keywords without a counterpart are left out and noted.
 * References still point into the document; `assembleSchema` makes a schema
 * self-contained.   AGTP-API §6.4, §14.1
 */
import {
  given,
  isRecord,
  type JsonRecord,
  listIn,
  quoteValue,
  recordIn,
  textsIn,
} from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { FORMATS } from "../schema/keywords-and-formats.ts";
import {
  checkPlainValue,
  isPattern,
  KEYWORDS,
  type PlainValue,
  SCHEMA_TYPES,
} from "../schema/schema-vocabulary.ts";
import { discriminate, partsOf } from "./discriminator.ts";
import { isDerived } from "./extension.ts";
import { hasOldSchemas } from "./read-document.ts";
import { dereference, resolveReference } from "./references.ts";
import { allowNull, isAnnotation, modernise, withoutNulls } from "./schema-dialect.ts";
import { SchemaGraph } from "./schema-graph.ts";
import { firstSentence, Notes } from "./words.ts";

/** The use of a schema: inputs have no read-only members, outputs no write-only ones. */
export type Direction = "input" | "output";

const MAX_TEXT = 300;
const MAX_PATTERN = 1024;
const NONE: ReadonlySet<string> = new Set();
/** Keywords of OpenAPI and of naming that do not restrict values. */
const SILENT: ReadonlySet<string> = new Set([
  ...["xml", "externalDocs", "discriminator", "nullable", "example", "readOnly", "writeOnly"],
  ...["$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions", "$vocabulary"],
  ...["$dynamicAnchor", "$recursiveAnchor", "collectionFormat"],
]);

/** Reads the schemas of one document for one direction; each is read once. */
export class SchemaReader {
  readonly document: JsonRecord;
  /** True if the document is an export, whose schemas need no shortening. */
  readonly isDerived: boolean;
  readonly notes: Notes = new Notes();
  readonly graph: SchemaGraph = new SchemaGraph((reference) => this.definition(reference));
  readonly #hidden: "readOnly" | "writeOnly";
  readonly #isOld: boolean;
  readonly #definitions = new Map<string, JsonSchema>();

  constructor(document: JsonRecord, direction: Direction) {
    this.document = document;
    this.#hidden = direction === "input" ? "readOnly" : "writeOnly";
    this.#isOld = hasOldSchemas(document);
    this.isDerived = isDerived(document);
  }

  /** Reads a schema; its references are `#` and a pointer into the document. `hidden` members are not required. */
  read(value: unknown, hidden: ReadonlySet<string> = NONE): JsonSchema {
    if (value === false) return { not: {} };
    if (!isRecord(value)) return {};
    const modern = modernise(value, this.#isOld);
    const unseen = new Set([...hidden, ...this.#hiddenIn(value)]);
    const schema = this.#satisfiable(withoutNulls(this.#readKeywords(modern, unseen)));
    const discriminated = discriminate(schema, value, this.document);
    return isNullable(value) ? allowNull(discriminated) : discriminated;
  }

  /** Drops requirements of undescribed members from a closed object, which no value could satisfy otherwise. */
  #satisfiable(schema: JsonSchema): JsonSchema {
    const { required, additionalProperties, properties, patternProperties, ...rest } = schema;
    // Another part may describe the member once both are merged.
    const isPart = rest["allOf"] !== undefined || patternProperties !== undefined;
    if (additionalProperties !== false || isPart) return schema;
    const known = textsIn(required).filter((name) => Object.hasOwn(recordIn(properties), name));
    if (known.length === listIn(required).length) return schema;
    this.notes.add("what a closed object requires without describing it is not required");
    return {
      ...rest,
      ...(known.length === 0 ? {} : { required: known }),
      ...{ additionalProperties, ...given({ properties }) },
    };
  }

  definition(reference: string): JsonSchema {
    const known = this.#definitions.get(reference);
    if (known !== undefined) return known;
    const schema = this.read(resolveReference(reference, this.document)?.value);
    this.#definitions.set(reference, schema);
    return schema;
  }

  /** The hidden properties of a schema and of everything combined into it. */
  #hiddenIn(schema: JsonRecord): readonly string[] {
    if (schema["required"] === undefined && schema["allOf"] === undefined) return [];
    return partsOf([schema], this.document).flatMap(({ properties }) =>
      Object.entries(recordIn(properties))
        .filter(([, property]) => this.#isHidden(property))
        .map(([name]) => name),
    );
  }

  #readKeywords(source: JsonRecord, hidden: ReadonlySet<string>): JsonSchema {
    const members = Object.entries(source).flatMap(([keyword, value]) => {
      const read = value === undefined ? value : this.#readKeyword(keyword, value, hidden);
      return read === undefined ? [] : [[keyword, read] as const];
    });
    // The type comes first, then the author's order.
    const isFirst = ([keyword]: readonly [string, unknown]): number => Number(keyword !== "type");
    return Object.fromEntries(members.toSorted((a, b) => isFirst(a) - isFirst(b)));
  }

  #readKeyword(keyword: string, value: unknown, hidden: ReadonlySet<string>): unknown {
    const expected = KEYWORDS.get(keyword);
    if (SILENT.has(keyword)) return undefined;
    if (expected === undefined) return this.#unknown(keyword);
    switch (expected) {
      case "schema":
        return typeof value === "boolean" ? value : this.read(value);
      case "schema list":
        if (!Array.isArray(value) || value.length === 0) return undefined;
        return value.map((item) => this.read(item, keyword === "allOf" ? hidden : NONE));
      case "schema map":
      case "schema map by pattern":
        return this.#readMap(value, expected === "schema map by pattern");
      case "reference":
        return this.#readReference(value);
      case "pattern":
        return this.#readPattern(value);
      case "format":
        return typeof value === "string" && FORMATS.has(value) ? value : undefined;
      case "type":
        return this.#readType(value);
      case "text":
        return this.isDerived && typeof value === "string" ? value : readText(keyword, value);
      case "anchor":
        return undefined;
      default:
        return keyword === "required" && Array.isArray(value)
          ? readRequired(value, hidden)
          : this.#readPlain(keyword, expected, value);
    }
  }

  #unknown(keyword: string): undefined {
    if (!keyword.startsWith("x-")) {
      this.notes.add(`the schema keyword ${quoteValue(keyword)} has no meaning, left out`);
    }
  }

  #readMap(value: unknown, isByPattern: boolean): JsonSchema | undefined {
    if (!isRecord(value)) return undefined;
    const members = Object.entries(value)
      .filter(([name]) => !isByPattern || this.#readPattern(name) !== undefined)
      // Endpoint schemas cannot have a member of this name.
      .filter(([name, member]) => name !== "__proto__" && !this.#isHidden(member))
      .map(([name, member]) => [name, typeof member === "boolean" ? member : this.read(member)]);
    return Object.fromEntries(members);
  }

  #isHidden(schema: unknown): boolean {
    const found = dereference(schema, this.document);
    return isRecord(found) && found[this.#hidden] === true;
  }

  #readReference(value: unknown): string | undefined {
    const target = typeof value === "string" ? resolveReference(value, this.document) : undefined;
    return target && `#${target.pointer}`;
  }

  #readPattern(value: unknown): string | undefined {
    if (typeof value === "string" && value.length <= MAX_PATTERN && isPattern(value)) return value;
    this.notes.add(`the pattern ${quoteValue(value)} is no regular expression here, left out`);
    return undefined;
  }

  #readType(value: unknown): unknown {
    const known: readonly unknown[] = SCHEMA_TYPES;
    const types = [...new Set([value].flat())].filter((type) => known.includes(type));
    if (types.length === 0) {
      this.notes.add(`the type ${quoteValue(value)} is none of JSON, left out`);
      return undefined;
    }
    return types.length === 1 ? types[0] : types;
  }

  #readPlain(keyword: string, expected: PlainValue, value: unknown): unknown {
    const fault = checkPlainValue(expected, value);
    if (fault === undefined) return value;
    // In older drafts a property has its own `required: true`, which is not a keyword of its value.
    if (keyword !== "required") {
      const got = `${quoteValue(keyword)} is ${quoteValue(value)}`;
      this.notes.add(`the schema keyword ${got} where ${fault} is expected, left out`);
    }
    return undefined;
  }
}

/**
 * Returns true if null is allowed, too: many use 3.0's `nullable` in 3.1, or beside a reference as
 * a part of its own.
 */
function isNullable({ nullable, allOf }: JsonRecord): boolean {
  if (nullable === true) return true;
  const parts = listIn(allOf);
  return parts.some((part) => isRecord(part) && part["nullable"] === true && isWords(part));
}

function isWords({ nullable: _, ...rest }: JsonRecord): boolean {
  return Object.keys(rest).every((keyword) => isAnnotation(keyword) || SILENT.has(keyword));
}

function readRequired(names: readonly unknown[], hidden: ReadonlySet<string>): unknown {
  const kept = new Set(names.filter((name) => typeof name === "string" && !hidden.has(name)));
  return kept.size === 0 ? undefined : [...kept];
}

/** Shortens prose to its first sentence if it is long: it is for agents that choose an endpoint. */
function readText(keyword: string, value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const isProse = keyword === "description" || keyword === "title";
  const isShort = value.length <= MAX_TEXT && !/[\n<]/.test(value);
  return (isProse && !isShort ? firstSentence(value, MAX_TEXT) : value) || undefined;
}
