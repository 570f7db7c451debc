/**
 * Converts a response of an AGTP server to the result of a tool: the server's text, bounded, with
 * the ids that identify the answer.   MCP "Tools" (Error Handling)
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonRecord } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import { isAccepted } from "../../client/exchange.ts";
import type { Following } from "../../modules/mcp/tasks/task.ts";
import { laterText } from "../../modules/mcp/tasks/work-state.ts";
import { metaMembers } from "../../modules/mcp/tools/answer-meta.ts";
import { readContent, refusalWords, resultOf } from "../../modules/mcp/tools/content.ts";

/** The form in which a call was made. */
export interface Asked {
  readonly meta: JsonRecord;
  /** True for a client of 2026-07-28. */
  readonly isCurrent: boolean;
  /** True if the client's protocol version was shown an output schema of the tool. */
  readonly isOutputTold: boolean;
  /** True if the tool returns MCP content. */
  readonly isContent: boolean;
}

/** Below the limit of ten mebibytes on a message that clients read. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The result for a response; `following` is what its final answer waits for. */
export function responseResult(
  response: ClientResponse,
  following: Following | undefined,
  asked: Asked,
): CallToolResult {
  const _meta = metaOf(response, asked.meta);
  if (isTooDeep(response.body)) return { ...failure("the answer is nested too deeply"), _meta };
  const result = { ...contentFor(response, following, asked), _meta };
  const isLong = Buffer.byteLength(JSON.stringify(result)) > MAX_BYTES;
  return isLong ? { ...failure("the answer is longer than clients of MCP read"), _meta } : result;
}

/** A result that reports a failure. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

function contentFor(
  response: ClientResponse,
  following: Following | undefined,
  asked: Asked,
): CallToolResult {
  const { status, headers, bytes } = response;
  const responseId = headers.get("response-id") ?? "";
  const read = readContent(bytes, headers.get("content-type"), responseId);
  const { content } = read;
  if (following !== undefined) {
    // A client that was shown an output schema accepts nothing else as a success.
    const isError = following.kind === "approval" || asked.isOutputTold;
    const next = { type: "text", text: laterText(following) } as const;
    return { content: [...content, next], ...(isError ? { isError } : {}) };
  }
  if (!isAccepted(status)) {
    return { content: [{ type: "text", text: refusalText(response) }, ...content], isError: true };
  }
  const { isContent, isCurrent, isOutputTold: isPromised } = asked;
  return resultOf(read, { isContent, isCurrent, isPromised });
}

/** The status and the error of a refusal on one line. */
export function refusalText({ status, text }: ClientResponse): string {
  const { code, message } = refusalWords(text);
  return `${status} ${code}: ${message}`;
}

function metaOf({ headers }: ClientResponse, asked: JsonRecord): Record<string, unknown> {
  const traces = {
    auditId: headers.get("audit-id"),
    responseId: headers.get("response-id"),
    serverId: headers.get("server-id"),
    jws: headers.get("attribution-record"),
  };
  return { ...metaMembers(traces, asked) };
}
