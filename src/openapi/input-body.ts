/**
 * Maps the body of an operation to fields of an endpoint's input: the members of an object one by
 * one, any other body as a single field. Also determines how the body is encoded upstream.
 * AGTP-API §6.4, §12.3
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord, type JsonRecord, memberOf, quoteValue, recordIn } from "../base/json-value.ts";
import type { UpstreamMethod } from "../endpoint/endpoint.ts";
import { BODY_METHODS, type BodyFormat, type ValueStyle } from "../endpoint/upstream-format.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { EXTENSION } from "./extension.ts";
import { type FieldSet, styleOf } from "./input-parameters.ts";
import { expandRoot, expandSent, type ObjectShape, objectShape } from "./merge-all-of.ts";
import type { Operation } from "./operations.ts";
import { type Content, contentsOf } from "./output.ts";
import { recordAt } from "./references.ts";
import type { SchemaReader } from "./schema-reader.ts";
import type { Notes } from "./words.ts";

/** The media type and encoding of the body. */
export interface BodyTarget {
  /** Undefined for JSON, the default of the HTTP method. */
  readonly format?: BodyFormat;
  readonly field?: string;
  readonly contentType?: string;
  /** Input names to upstream names, where they differ. */
  readonly transform: Readonly<Record<string, string>>;
  readonly styles: Readonly<Record<string, ValueStyle>>;
  /** The reason the operation cannot be called. */
  readonly fault?: string;
}

interface BodyContext {
  readonly reader: SchemaReader;
  readonly fields: FieldSet;
  readonly notes: Notes;
}

const NO_BODY: BodyTarget = { transform: {}, styles: {} };
const BODILESS: ReadonlySet<UpstreamMethod> = new Set(["GET", "HEAD", "OPTIONS"]);
const OCTETS = "application/octet-stream";

/** The schema of a file; with several allowed media types, its value names one. */
function fileOf(types: readonly string[]): JsonSchema {
  const isAny = types.every((type) => type === OCTETS) || types.some((type) => type.includes("*"));
  return {
    type: "object",
    required: isAny || types.includes(OCTETS) ? ["base64"] : ["base64", "media_type"],
    additionalProperties: false,
    properties: {
      base64: { type: "string", contentEncoding: "base64" },
      filename: { type: "string" },
      media_type: { type: "string", ...(isAny ? {} : { enum: types }) },
    },
  };
}

/** Adds the fields of a body to the input. */
export function addBody(operation: Operation, context: BodyContext): BodyTarget {
  const { requestBody, httpMethod } = operation;
  if (requestBody === undefined) {
    return BODY_METHODS.has(httpMethod) ? { ...NO_BODY, format: "none" } : NO_BODY;
  }
  const [content, ...others] = contentsOf(requestBody["content"], context.reader.document);
  if (content === undefined) return NO_BODY;
  const isRequired = requestBody["required"] === true;
  const schema = context.reader.read(content.raw["schema"]);
  noteOthers(others, schema, context);
  if (BODILESS.has(httpMethod) || isEmpty(schema, content)) {
    if (!isEmpty(schema, content))
      context.notes.add(`the body is left out, ${httpMethod} has none`);
    return content.kind === "form" && !BODILESS.has(httpMethod)
      ? { ...NO_BODY, format: "form" }
      : NO_BODY;
  }
  const isExported = operation.raw[EXTENSION.method] !== undefined;
  const expand = content.kind === "json" ? expandRoot : expandSent;
  const shape = objectShape(expand(schema, context.reader), isExported);
  const part = { content, isRequired, schema, shape };
  switch (content.kind) {
    case "json":
      return addJson(part, httpMethod, context);
    case "form":
      return { ...addMembers(part, context), format: "form" };
    case "multipart":
      return addMultipart(part, context);
    case "text":
    case "binary":
      return addContent(part, content.kind, context);
  }
}

/** Notes other kinds of content that the input does not cover. */
function noteOthers(
  others: readonly Content[],
  schema: JsonSchema,
  { reader, notes }: BodyContext,
) {
  const different = others.filter(
    ({ raw }) => !isDeepStrictEqual(reader.read(raw["schema"]), schema),
  );
  for (const { mediaType } of different) {
    notes.add(`the body of the type ${quoteValue(mediaType)} is another one, left out`);
  }
}

/** Returns true for an object that can have no members. */
function isEmpty(schema: JsonSchema, { kind }: Content): boolean {
  const { type, properties, additionalProperties } = schema;
  const isBare = type === "object" && Object.keys(recordIn(properties)).length === 0;
  return (
    isBare &&
    (additionalProperties === false || (kind === "form" && !isRecord(additionalProperties)))
  );
}

interface BodyPart {
  readonly content: Content;
  readonly isRequired: boolean;
  readonly schema: JsonSchema;
  readonly shape: ObjectShape | undefined;
}

function addJson(part: BodyPart, httpMethod: UpstreamMethod, context: BodyContext): BodyTarget {
  const { mediaType } = part.content;
  const isUsual = mediaType === "application/json" || mediaType.includes("*");
  return {
    ...addMembers(part, context),
    // Why explicit: without a format, DELETE would send its fields in the query.
    ...(httpMethod === "DELETE" ? { format: "json" as const } : {}),
    ...(isUsual ? {} : { contentType: mediaType }),
  };
}

function addMultipart(part: BodyPart, context: BodyContext): BodyTarget {
  const { mediaType, raw } = part.content;
  const isList = expandSent(part.schema, context.reader)["type"] === "array";
  if (isList || raw["itemSchema"] !== undefined) {
    // Parts without names form a list, which only multipart/mixed and similar types allow.   OAS 3.2.0 §4.14.5.2
    const unsent = `its body is ${quoteValue(mediaType)} of parts without names, which cannot be sent`;
    if (part.isRequired) return { ...NO_BODY, fault: unsent };
    context.notes.add(`${unsent}, left out`);
    return NO_BODY;
  }
  if (mediaType !== "multipart/form-data") {
    context.notes.add(`the body is ${quoteValue(mediaType)}, sent as multipart/form-data`);
  }
  return { ...addMembers(withFiles(part, context), context), format: "multipart" };
}

/** Adds the members of an object, or one field for any other body. */
function addMembers(part: BodyPart, { reader, fields, notes }: BodyContext): BodyTarget {
  const { shape, schema, isRequired, content } = part;
  if (shape === undefined) {
    const field = fields.add("body", "request", { schema, isRequired });
    return { ...NO_BODY, field };
  }
  if (shape.isOpen) notes.add("members of the body that the document does not name are refused");
  noteHeirs(content, { reader, notes });
  const encoding = recordIn(content.raw["encoding"]);
  const transform: Record<string, string> = {};
  const styles: Record<string, ValueStyle> = {};
  const undescribed = shape.undescribed.filter((name) => name !== "__proto__");
  for (const name of undescribed) {
    notes.add(`the body requires ${quoteValue(name)} and does not describe it: it may be anything`);
  }
  const anything = undescribed.map((name): [string, unknown] => [name, {}]);
  for (const [name, value] of [...Object.entries(shape.properties), ...anything]) {
    // A blank name is not a valid table key.
    if (name.trim() === "") continue;
    const own = { schema: recordIn(value), isRequired: shape.required.includes(name) };
    const field = fields.add(name, "body", own);
    if (field !== name) transform[field] = name;
    if (content.kind !== "form") continue;
    const style = memberStyle(recordIn(memberOf(encoding, name)), expandSent(own.schema, reader));
    if (style !== undefined) styles[field] = style;
  }
  if (Object.keys(transform).length === 0) fields.setRules(shape.rules);
  else if (Object.keys(shape.rules).length > 0) {
    notes.add("what the body says about members that go together is left out");
  }
  return { transform, styles };
}

/** Notes a discriminator without branches: the schemas that extend this one are not reachable from it. */
function noteHeirs({ raw }: Content, { reader, notes }: Pick<BodyContext, "reader" | "notes">) {
  const { discriminator, oneOf, anyOf } = recordAt(raw["schema"], reader.document);
  if (discriminator === undefined || oneOf !== undefined || anyOf !== undefined) return;
  notes.add("members of the schemas that its discriminator tells apart are refused in the body");
}

/** In a form an object is encoded as JSON, unless its style says otherwise. */
function memberStyle(own: JsonRecord, member: JsonSchema): ValueStyle | undefined {
  const hasStyle = own["style"] !== undefined || own["explode"] !== undefined;
  return styleOf(own) ?? (hasStyle && member["type"] === "object" ? "explode" : undefined);
}

/** The media types of an encoding, without parameters. */
function mediaTypesOf({ contentType }: JsonRecord): readonly string[] {
  if (typeof contentType !== "string") return [];
  const names = contentType.split(",").map((one) => one.replace(/;.*/, "").trim().toLowerCase());
  return [...new Set(names)].filter((name) => name.includes("/"));
}

/** Encodes file members as base64 with a name and a type. */
function withFiles(part: BodyPart, { reader, notes }: BodyContext): BodyPart {
  if (part.shape === undefined) return part;
  const encoding = recordIn(part.content.raw["encoding"]);
  const properties = Object.entries(part.shape.properties).map(([name, value]) => {
    const member = expandSent(recordIn(value), reader);
    const isList = member["type"] === "array";
    const one = isList ? expandSent(recordIn(member["items"]), reader) : member;
    const own = mediaTypesOf(recordIn(memberOf(encoding, name)));
    if (!isFile(one)) {
      const usual = one["type"] === "object" ? "application/json" : "text/plain";
      if (own.length > 0 && !own.includes(usual)) {
        notes.add(`the part ${quoteValue(name)} is not sent as ${own.join(", ")}, but as ${usual}`);
      }
      return [name, value];
    }
    const types = own.length > 0 ? own : mediaTypesOf({ contentType: one["contentMediaType"] });
    const file = fileOf(types);
    return [name, isList ? { type: "array", items: file } : file];
  });
  return { ...part, shape: { ...part.shape, properties: Object.fromEntries(properties) } };
}

function isFile({ format, contentMediaType, contentEncoding }: JsonSchema): boolean {
  return format === "binary" || (contentMediaType !== undefined && contentEncoding === undefined);
}

function addContent(
  { content, isRequired }: BodyPart,
  format: "text" | "binary",
  { fields, notes }: BodyContext,
): BodyTarget {
  const schema =
    format === "text" ? { type: "string" } : { type: "string", contentEncoding: "base64" };
  const field = fields.add("content", "body", { schema, isRequired });
  const { mediaType } = content;
  notes.add(`the body is ${quoteValue(mediaType)}, in the field ${quoteValue(field)}`);
  return {
    ...NO_BODY,
    format,
    field,
    ...(mediaType.includes("*") ? {} : { contentType: mediaType }),
  };
}
