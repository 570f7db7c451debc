/**
 * Tools that give MCP's own content: an endpoint whose output is `{ content: […] }` and nothing else, as
 * those of MCP servers are imported. What such a tool gives is handed on part by part, so that a picture
 * is a picture; the parts are a stranger's, and only what each of them has to have is taken.
 * MCP "Tool Result"
 */
import type { ContentBlock } from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";

/** True if an output is such content. */
export function isContentSchema({ type, properties, required }: JsonSchema): boolean {
  if (type !== "object" || !isRecord(properties)) return false;
  const [name, ...others] = Object.keys(properties);
  const { content } = properties;
  return name === "content" && others.length === 0 && isPartsSchema(content, required);
}

/** The parts in a body; undefined where one of them is none. */
export function partsIn(body: unknown): readonly ContentBlock[] | undefined {
  const content = recordIn(body)["content"];
  if (!Array.isArray(content)) return undefined;
  const parts = content.map(partOf);
  return parts.every((part) => part !== undefined) ? parts : undefined;
}

function isPartsSchema(content: unknown, required: unknown): boolean {
  if (!isRecord(content) || content["type"] !== "array") return false;
  const { items } = content;
  const isObjects = isRecord(items) && items["type"] === "object";
  return isObjects && Array.isArray(required) && required.includes("content");
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
