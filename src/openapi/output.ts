/**
 * The output of an operation: the schema of its success responses, and the format of their bodies.
 * Several success statuses become alternatives of one output.   AGTP-API §6.4, §12.3
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord, type JsonRecord, recordIn } from "../base/json-value.ts";
import { isList, type ResponseFormat } from "../endpoint/upstream-format.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { Operation } from "./operations.ts";
import { recordAt } from "./references.ts";
import type { SchemaReader } from "./schema-reader.ts";
import type { Notes } from "./words.ts";

/** The output schema of an endpoint, with references into the document. */
export interface Output {
  readonly schema: JsonSchema;
  readonly format: ResponseFormat;
  /** The media type to request, if JSON has another name. */
  readonly accept?: string;
  /** The document's description of the first success. */
  readonly description: string;
  /** The document's own example answers, if they are JSON. */
  readonly examples: readonly unknown[];
}

const EMPTY: JsonSchema = { type: "object", maxProperties: 0 };
/** An answer without octets becomes an empty object, whatever its format. */
const TEXT: JsonSchema = {
  type: "object",
  properties: { text: { type: "string" }, media_type: { type: "string" } },
};
const BYTES: JsonSchema = {
  type: "object",
  properties: {
    base64: { type: "string", contentEncoding: "base64" },
    media_type: { type: "string" },
  },
};

/** Reads the output of an operation. */
export function readOutput(operation: Operation, reader: SchemaReader, notes: Notes): Output {
  const { successes } = operation;
  if (
    successes.length === 0 &&
    [...operation.responses.keys()].some((status) => /^3/.test(status))
  ) {
    notes.add("it answers with a redirect, which is not followed");
  }
  const described = successes.map(({ summary, description }) => description ?? summary);
  const description = String(described.find((text) => typeof text === "string") ?? "");
  if (operation.httpMethod === "HEAD") {
    return { schema: EMPTY, format: "json", description, examples: [] };
  }
  const offered = successes.map(({ content }) => contentsOf(content, reader.document));
  noteOthers(offered, reader, notes);
  const contents = offered.map(([first]) => first);
  const format = formatOf(contents);
  const read = contents.map((content) => schemaOf(content, format, reader));
  if (contents.some((content) => content !== undefined && toFormat(content) !== format)) {
    notes.add("its successes have different kinds of content, one of which is read");
  }
  if (format !== "json") {
    const mediaType = contents.find(Boolean)?.mediaType ?? "";
    if (!isList(format)) {
      const member = format === "binary" ? "base64" : format;
      notes.add(`it answers ${mediaType}, which is in the member ${member}`);
    }
    if (isSequential(mediaType)) {
      notes.add(
        "it answers one item after another, all of which are awaited: the answer has to end",
      );
    }
  }
  const accept = contents.find(
    (content) => content?.kind === "json" || (content && isList(toFormat(content))),
  )?.mediaType;
  const isUsual = accept === undefined || accept === "application/json" || accept.includes("*");
  return {
    schema: anyOf(read),
    format,
    ...(isUsual ? {} : { accept }),
    description,
    examples: contents.flatMap((content) => examplesOf(content, reader.document)),
  };
}

/** Notes other kinds of content of a success that are not read. */
function noteOthers(offered: readonly (readonly Content[])[], reader: SchemaReader, notes: Notes) {
  for (const [first, ...others] of offered) {
    const schema = reader.read(first?.raw["schema"]);
    for (const { mediaType, raw } of others) {
      if (isDeepStrictEqual(reader.read(raw["schema"]), schema)) continue;
      notes.add(`it answers ${mediaType} as well, which is something else and left out`);
    }
  }
}

const MAX_EXAMPLES = 8;

/** The examples of a body; many documents use null for none. */
function examplesOf(content: Content | undefined, document: JsonRecord): readonly unknown[] {
  if (content?.kind !== "json") return [];
  const { example, examples } = content.raw;
  const named = Object.values(recordIn(examples)).map((entry) => {
    const { value, dataValue = value } = recordAt(entry, document);
    return dataValue;
  });
  return [example, ...named]
    .filter((one) => one !== undefined && one !== null)
    .slice(0, MAX_EXAMPLES);
}

function toFormat({ kind, mediaType, raw }: Content): ResponseFormat {
  if (kind === "json") return "json";
  if (mediaType === EVENTS && raw["itemSchema"] !== undefined) return "events";
  const isLines = mediaType !== EVENTS && isSequential(mediaType);
  if (isLines && listSchemasOf(raw).length > 0) return "json_lines";
  return kind === "text" ? "text" : "binary";
}

function formatOf(contents: readonly (Content | undefined)[]): ResponseFormat {
  const formats = contents.flatMap((content) => (content === undefined ? [] : [toFormat(content)]));
  const [first = "json"] = formats;
  return formats.includes("json") ? "json" : first;
}

function schemaOf(
  content: Content | undefined,
  format: ResponseFormat,
  reader: SchemaReader,
): JsonSchema {
  if (content === undefined) return EMPTY;
  if (toFormat(content) !== format) return {};
  if (format === "text") return TEXT;
  if (format === "binary") return BYTES;
  if (format === "json") return reader.read(content.raw["schema"]);
  const schemas = listSchemasOf(content.raw).map((schema) => reader.read(schema));
  const [only = {}] = schemas;
  return schemas.length > 1 ? { allOf: schemas } : only;
}

/**
 * The list schemas of a sequence, given for its items or for the whole. Before 3.2 any other schema
 * may be meant for an item or for the text, which is ambiguous.   OAS 3.2.0 §4.14.2.1
 */
function listSchemasOf({ schema, itemSchema }: JsonRecord): readonly JsonRecord[] {
  const isOfList = isRecord(schema) && schema["type"] === "array";
  return [
    ...(isOfList ? [schema] : []),
    ...(itemSchema === undefined ? [] : [{ type: "array", items: itemSchema }]),
  ];
}

/** One schema for several; a response without a body becomes an empty object. */
function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const different = schemas.filter(
    (schema, index) => schemas.findIndex((other) => isDeepStrictEqual(schema, other)) === index,
  );
  const [only = { type: "object" }] = different;
  if (different.length < 2) return only === EMPTY ? { type: "object" } : only;
  return { anyOf: different };
}

type ContentKind = "json" | "form" | "multipart" | "text" | "binary";

/** One entry of `content`. */
export interface Content {
  /** Lower case, without parameters. */
  readonly mediaType: string;
  readonly kind: ContentKind;
  readonly raw: JsonRecord;
}

const ORDER: readonly ContentKind[] = ["json", "form", "multipart", "text", "binary"];

/** The entries of a `content` map, the most descriptive formats first. */
export function contentsOf(content: unknown, document: JsonRecord): readonly Content[] {
  if (!isRecord(content)) return [];
  return Object.entries(content)
    .map(([name, value]): Content => {
      const mediaType = (name.split(";", 1)[0] ?? "").trim().toLowerCase() || "*/*";
      const raw = recordAt(value, document);
      const { format } = recordAt(raw["schema"], document);
      // Binary content of any type is a file, unlike JSON of any type.
      const isFile = mediaType.includes("*") && format === "binary";
      return { mediaType, kind: isFile ? "binary" : kindOf(mediaType), raw };
    })
    .toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

/** Returns true for content that is a sequence of items, such as JSON lines and events.   OAS 3.2.0 §4.14.2.1 */
function isSequential(mediaType: string): boolean {
  return (
    mediaType === EVENTS ||
    /[/+-](?:jsonl|jsonlines|json-lines|ndjson|json-seq)$|\/stream\+json$/.test(mediaType)
  );
}

const EVENTS = "text/event-stream";

function kindOf(mediaType: string): ContentKind {
  if (isSequential(mediaType)) return "text";
  if (/^(?:application\/json|\*\/\*|application\/\*)$|[/+.]json$/.test(mediaType)) return "json";
  if (mediaType === "application/x-www-form-urlencoded") return "form";
  if (mediaType.startsWith("multipart/")) return "multipart";
  return /^text\/|[/+]xml$|[/+]yaml$/.test(mediaType) ? "text" : "binary";
}
