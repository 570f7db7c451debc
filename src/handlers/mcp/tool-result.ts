/** Translates what a tool answered into a body for the caller, or the named error that stands for it. */
import { isDeeperThan, isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { HandlerError, HandlerResult } from "../handler.ts";
import type { Secrets } from "./secrets.ts";

/** How an endpoint reads its tool's results. */
export interface ResultOptions {
  /** The declared error that stands for `isError`. */
  readonly toolError: string;
  /** True if a text that is a JSON object is the body. */
  readonly isObjectWanted: boolean;
  readonly secrets: Secrets;
}

/** Deeper bodies would exhaust the stack of whoever walks them, and be a fault of ours. */
const MAX_DEPTH = 512;
const MAX_MESSAGE = 2_048;

/** The result of a call; `answered` is MCP's. */
export function readToolResult(answered: JsonRecord, options: ResultOptions): HandlerResult {
  if (isDeeperThan(answered, MAX_DEPTH)) {
    return malformed(`is nested deeper than ${MAX_DEPTH} levels`);
  }
  const result = withoutSecrets(answered, options.secrets);
  const { content, structuredContent, isError } = result;
  if (isError === true) return toolError(content, options);
  if (structuredContent !== undefined) {
    return isRecord(structuredContent)
      ? { body: structuredContent }
      : malformed("has structured content that is no object");
  }
  if (!Array.isArray(content)) return malformed("has no content");
  const parsed = options.isObjectWanted ? onlyObjectOf(content) : undefined;
  return { body: parsed ?? { content } };
}

/** The text of an answer's parts, up to a length. */
export function boundedText(content: unknown): string {
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.flatMap((part) => {
    const text = isRecord(part) ? part["text"] : undefined;
    return typeof text === "string" ? [text.slice(0, MAX_MESSAGE)] : [];
  });
  return texts.join("\n").slice(0, MAX_MESSAGE);
}

function toolError(content: unknown, options: ResultOptions): HandlerError {
  const message = boundedText(content);
  return {
    error: options.toolError,
    message: "the tool answered with an error",
    details: { message },
  };
}

function onlyObjectOf(content: readonly unknown[]): JsonRecord | undefined {
  const [part, ...others] = content;
  const text = isRecord(part) && part["type"] === "text" ? part["text"] : undefined;
  if (others.length > 0 || typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && !isDeeperThan(value, MAX_DEPTH) ? value : undefined;
  } catch {
    return undefined;
  }
}

function withoutSecrets(answered: JsonRecord, secrets: Secrets): JsonRecord {
  if (!secrets.isAny) return answered;
  const json = JSON.stringify(answered);
  return secrets.isIn(json) ? (JSON.parse(secrets.concealIn(json)) as JsonRecord) : answered;
}

function malformed(fault: string): HandlerError {
  const message = `the upstream's response ${fault}`;
  return { error: "upstream_malformed_response", message };
}
