/**
 * Converts a response body to MCP content: JSON and text as text, images and audio as themselves, other octets as an
 * embedded resource.   MCP "Tool Result"
 */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import { parseNoting } from "../../../base/exact-numbers.ts";
import { isRecord, type JsonRecord, parseJson, recordIn } from "../../../base/json-value.ts";
import { isJsonType } from "../../../dispatch/reply.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { Response } from "../../../wire/message.ts";

/** The content of a body, and its value if it is JSON. */
interface AnswerContent {
  readonly content: readonly ContentBlock[];
  readonly value: unknown;
}

/** Reads a response body by its content type. */
export function contentOf({ body, fields, responseId }: Response): AnswerContent {
  const [, contentType] = /^content-type: *([^\r\n]+)/im.exec(fields) ?? [];
  return readContent(body, contentType, responseId);
}

/** Reads a body by a content type; AGTP's own is the default. */
export function readContent(
  body: Response["body"],
  contentType: string | undefined,
  responseId: string,
): AnswerContent {
  if (body.length === 0) return { content: [], value: undefined };
  const [type = ""] = (contentType ?? "application/json").toLowerCase().split(";", 1);
  const mediaType = type.trim();
  if (isJsonType(mediaType)) {
    const text = bodyText({ body });
    const value = parseNoting(text);
    return { content: [{ type: "text", text: typeof value === "string" ? value : text }], value };
  }
  if (mediaType.startsWith("text/")) {
    return { content: [{ type: "text", text: bodyText({ body }) }], value: undefined };
  }
  return { content: [octets(Buffer.from(body), mediaType, responseId)], value: undefined };
}

/** The output format that a client was told. */
interface ToldOutput {
  /** True if the tool returns MCP content itself. */
  readonly isContent: boolean;
  /** True for a client of 2026-07-28. */
  readonly isCurrent: boolean;
  /** True if the client was told an output schema. */
  readonly isPromised: boolean;
}

/** Converts a body to a tool result. */
export function resultOf(answer: AnswerContent, told: ToldOutput): CallToolResult {
  const { content, value } = answer;
  const parts = told.isContent ? partsIn(value) : undefined;
  if (parts !== undefined) return { content: [...parts] };
  const structure = structureOf(answer, told);
  return {
    content: [...content],
    ...(structure === undefined ? {} : { structuredContent: structure as Record<string, unknown> }),
  };
}

/** The structured content: the older protocol allows only objects, from any tool; the current one any value. */
function structureOf(
  { content: [part], value }: AnswerContent,
  { isCurrent, isPromised }: ToldOutput,
): unknown {
  if (value !== undefined) return isCurrent || isPromised || isRecord(value) ? value : undefined;
  // A client that knows the schema needs a value: 204 has none, and text becomes one.
  if (!isPromised) return undefined;
  if (part === undefined) return {};
  return isCurrent && part.type === "text" ? part.text : undefined;
}

function octets(body: Buffer, mimeType: string, responseId: string): ContentBlock {
  const data = body.toString("base64");
  if (mimeType.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
  return { type: "resource", resource: { uri: `urn:uuid:${responseId}`, mimeType, blob: data } };
}

/**
 * True for the output of tools that return MCP content, `{ content: […] }` and nothing else, as tools imported from
 * MCP servers do. Their content is passed on part by part, so that an image stays an image; the parts come from a
 * stranger, so only the required members are taken.
 * MCP "Tool Result"
 */
export function isContentSchema({ type, properties, required }: JsonSchema): boolean {
  if (type !== "object" || !isRecord(properties)) return false;
  const [name, ...others] = Object.keys(properties);
  const { content } = properties;
  return name === "content" && others.length === 0 && isPartsSchema(content, required);
}

/** Reads the parts of a body; undefined if one is invalid. */
export function partsIn(body: unknown): readonly ContentBlock[] | undefined {
  const content = recordIn(body)["content"];
  if (!Array.isArray(content)) return undefined;
  const parts = content.map(partOf);
  return parts.every((part) => part !== undefined) ? parts : undefined;
}

function isPartsSchema(content: unknown, required: unknown): boolean {
  if (!isRecord(content) || content["type"] !== "array") return false;
  const { items } = content;
  return isObjects(items) && Array.isArray(required) && required.includes("content");
}

/** True if a schema admits only objects, of one kind or several. */
function isObjects(schema: unknown): boolean {
  const { type, anyOf: kinds } = recordIn(schema);
  if (type !== undefined || !Array.isArray(kinds)) return type === "object";
  return kinds.length > 0 && kinds.every(isObjects);
}

function partOf(part: unknown): ContentBlock | undefined {
  if (!isRecord(part)) return undefined;
  const { type, text, data, mimeType, uri, name } = part;
  switch (type) {
    case "text":
      return isText(text) ? { type, text } : undefined;
    case "image":
    case "audio":
      return isBase64(data) && isText(mimeType) ? { type, data, mimeType } : undefined;
    case "resource":
      return resourceOf(part["resource"]);
    case "resource_link":
      return isText(uri) && isText(name) ? { type, uri, name, ...mediaType(part) } : undefined;
    default:
      return undefined;
  }
}

function resourceOf(resource: unknown): ContentBlock | undefined {
  if (!isRecord(resource)) return undefined;
  const { uri, text, blob } = resource;
  if (!isText(uri)) return undefined;
  const place = { uri, ...mediaType(resource) };
  if (isText(text)) return { type: "resource", resource: { ...place, text } };
  return isBase64(blob) ? { type: "resource", resource: { ...place, blob } } : undefined;
}

function mediaType({ mimeType }: JsonRecord): { readonly mimeType?: string } {
  return isText(mimeType) ? { mimeType } : {};
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isBase64(value: unknown): value is string {
  return isText(value) && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);
}

/** The body as text, empty if there is none. */
export function bodyText({ body }: Pick<Response, "body">): string {
  return typeof body === "string" ? body : Buffer.from(body).toString("utf8");
}

interface RefusalWords {
  readonly code: string;
  readonly message: string;
  /** The `error` member. */
  readonly error: JsonRecord;
}

/** Parses the body of a refusal. */
export function refusalWords(text: string): RefusalWords {
  const value = parseJson(text);
  const error = recordIn(recordIn(value)["error"]);
  const { code, message } = error;
  return {
    code: typeof code === "string" ? code : "error",
    message: typeof message === "string" ? message : "the request was refused",
    error,
  };
}
