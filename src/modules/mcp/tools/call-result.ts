/**
 * An answer of the pipeline as the result of a tool. What the caller or its model can do something
 * about is a result with `isError`, in the words that AGTP has for it; what it cannot is an error of
 * the protocol: a tool that is none, and a fault of this server.   MCP "Tools" (Error Handling)
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

/** A result, or what stands for one. */
export type Result = CallToolResult;

/** An answer, and how it was asked for. */
export interface Answered {
  readonly answer: Answer;
  readonly serverId: string;
  readonly meta: JsonRecord;
  /** True for a client of 2026-07-28. */
  readonly isCurrent: boolean;
}

/** The result of a tool: as text for every client, and as a value for those that were told its form. */
export function successResult(tool: McpTool | undefined, answered: Answered): Result {
  const { isCurrent } = answered;
  const { current, isOutputTold = false, isContent = false } = tool?.description ?? {};
  const isPromised = isCurrent ? current?.outputSchema !== undefined : isOutputTold;
  const told = { isContent, isCurrent, isPromised };
  const result = resultOf(contentOf(answered.answer.response), told);
  return { ...result, _meta: metaOf(answered) };
}

/** An answer that is not the last word, for a client that knows no tasks: where to ask for that. */
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
  // A client that was told the form of a result takes no other one, unless it is an error.
  const isPromised = tool?.route.output?.check(structuredContent) === undefined;
  if (following.kind === "work" && isPromised) return { ...said, content };
  return { ...told, content, isError: true };
}

/** A refusal that is a result, or an error to throw. */
export function refusalResult(answered: Answered): Result {
  const { status } = answered.answer.response;
  const text = bodyText(answered.answer.response);
  const { message, error } = refusalWords(text);
  if (status === 500) throw internalError(message, { ...error, ...metaOf(answered) });
  return { content: [{ type: "text", text }], isError: true, _meta: metaOf(answered) };
}

/** -32602: the tool is none, or none of this caller's. */
export function unknownTool(name: string, answered: Answered): Error {
  const { status } = answered.answer.response;
  const { code, message } = refusalWords(bodyText(answered.answer.response));
  const why = status === 404 ? unknownToolText(name) : message;
  return invalidParams(why, { code, ...metaOf(answered) });
}

/** -32602: what came with the call is no `requestState` of this caller and this call. */
export function stateRefused(answered: Answered): Error {
  const { code, message } = refusalWords(bodyText(answered.answer.response));
  return invalidParams(message, { code, ...metaOf(answered) });
}

/** Names a tool that is none, at bearable length. */
export function unknownToolText(name: string): string {
  return `Unknown tool: ${clip(name, 100)}`;
}

function metaOf({ answer, serverId, meta }: Answered): Record<string, unknown> {
  return { ...answerMeta(answer, serverId, meta) };
}
