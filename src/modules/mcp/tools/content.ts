/**
 * The body of an answer as MCP's content: JSON and other text as text, pictures and sound as what
 * they are, every other kind of octets as a resource that is sent along.   MCP "Tool Result"
 */

import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import { isRecord, parseJson } from "../../../base/json-value.ts";
import type { Response } from "../../../wire/message.ts";
import { bodyText } from "./answer-body.ts";
import { partsIn } from "./tool-content.ts";

/** A body, and the value of it where it is JSON. */
interface AnswerContent {
  readonly content: readonly ContentBlock[];
  readonly value: unknown;
}

/** Reads the body of a response by its content type. */
export function contentOf({ body, fields, responseId }: Response): AnswerContent {
  const [, contentType] = /^content-type: *([^\r\n]+)/im.exec(fields) ?? [];
  return readContent(body, contentType, responseId);
}

/** Reads a body by a content type; AGTP's own where there is none. */
export function readContent(
  body: Response["body"],
  contentType: string | undefined,
  responseId: string,
): AnswerContent {
  if (body.length === 0) return { content: [], value: undefined };
  const [type = ""] = (contentType ?? "application/json").toLowerCase().split(";", 1);
  const mediaType = type.trim();
  if (isJson(mediaType)) {
    const text = bodyText({ body });
    const value = parseJson(text);
    return { content: [{ type: "text", text: typeof value === "string" ? value : text }], value };
  }
  if (mediaType.startsWith("text/")) {
    return { content: [{ type: "text", text: bodyText({ body }) }], value: undefined };
  }
  return { content: [octets(Buffer.from(body), mediaType, responseId)], value: undefined };
}

/** A body as the result of a tool; `isTold`: its client was told the form of any value. */
export function resultOf(
  { content, value }: AnswerContent,
  { isContent, isTold }: { readonly isContent: boolean; readonly isTold: boolean },
): CallToolResult {
  const parts = isContent ? partsIn(value) : undefined;
  if (parts !== undefined) return { content: [...parts] };
  // The older protocol has records alone here, the current one has any value.
  const hasStructure = value !== undefined && (isTold || isRecord(value));
  return {
    content: [...content],
    ...(hasStructure ? { structuredContent: value as Record<string, unknown> } : {}),
  };
}

function octets(body: Buffer, mimeType: string, responseId: string): ContentBlock {
  const data = body.toString("base64");
  if (mimeType.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
  return { type: "resource", resource: { uri: `urn:uuid:${responseId}`, mimeType, blob: data } };
}

function isJson(type: string): boolean {
  return type.endsWith("/json") || type.endsWith("+json");
}
