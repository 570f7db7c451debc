/**
 * Converts a pipeline answer to a tool result. A failure that the caller or its model can handle is a result with
 * `isError`, in AGTP's words; an unknown tool and a fault of this server are protocol errors.   MCP "Tools" (Error
 * Handling)
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { clip, type JsonRecord } from "../../../base/json-value.ts";
import type { Answer } from "../ask.ts";
import { internalError, invalidParams } from "../protocol-errors.ts";
import type { Following } from "../tasks/task.ts";
import { laterText } from "../tasks/work-state.ts";
import { answerMeta } from "./answer-meta.ts";
import { bodyText, contentOf, refusalWords, resultOf } from "./content.ts";
import type { McpTool } from "./toolbox.ts";

/** A result, also one that asks for input or names a task. */
export type Result = CallToolResult;

/** An answer with the context of its request. */
export interface Answered {
  readonly answer: Answer;
  readonly serverId: string;
  readonly meta: JsonRecord;
  /** True for a client of 2026-07-28. */
  readonly isCurrent: boolean;
}

/** The result of a successful call: as text for every client, and as a value for clients that know its schema. */
export function successResult(tool: McpTool | undefined, answered: Answered): Result {
  const { isCurrent } = answered;
  const { current, isOutputTold = false, isContent = false } = tool?.description ?? {};
  const isPromised = isCurrent ? current?.outputSchema !== undefined : isOutputTold;
  const told = { isContent, isCurrent, isPromised };
  const result = resultOf(contentOf(answered.answer.response), told);
  return { ...result, _meta: metaOf(answered) };
}

/** The result of an unfinished answer for a client without tasks: it says where to ask for the final one. */
export function laterResult(
  tool: McpTool | undefined,
  answered: Answered,
  following: Following,
): Result {
  const said = successResult(tool, answered);
  const { structuredContent, ...told } = said;
  const content: Result["content"] = [
    ...said.content,
    { type: "text", text: laterText(following) },
  ];
  // A client that knows the output schema accepts nothing else, except an error.
  const isPromised = tool?.route.output?.check(structuredContent) === undefined;
  if (following.kind === "work" && isPromised) return { ...said, content };
  return { ...told, content, isError: true };
}

/** Converts a refusal to a result, or throws it. */
export function refusalResult(answered: Answered): Result {
  const { status } = answered.answer.response;
  const text = bodyText(answered.answer.response);
  const { message, error } = refusalWords(text);
  if (status === 500) throw internalError(message, { ...error, ...metaOf(answered) });
  return { content: [{ type: "text", text }], isError: true, _meta: metaOf(answered) };
}

/** -32602: the caller has no such tool. */
export function unknownTool(name: string, answered: Answered): Error {
  const { status } = answered.answer.response;
  const { code, message } = refusalWords(bodyText(answered.answer.response));
  const why = status === 404 ? unknownToolText(name) : message;
  return invalidParams(why, { code, ...metaOf(answered) });
}

/** -32602: the `requestState` is not one of this caller and this call. */
export function stateRefused(answered: Answered): Error {
  const { code, message } = refusalWords(bodyText(answered.answer.response));
  return invalidParams(message, { code, ...metaOf(answered) });
}

/** Names an unknown tool, cut to a bounded length. */
export function unknownToolText(name: string): string {
  return `Unknown tool: ${clip(name, 100)}`;
}

function metaOf({ answer, serverId, meta }: Answered): Record<string, unknown> {
  return { ...answerMeta(answer, serverId, meta) };
}
