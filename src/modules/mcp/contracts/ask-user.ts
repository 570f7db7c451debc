/**
 * Questions to the users of clients of 2025-11-25: put on the stream of the call, which goes on once they
 * are answered, under the deployment that is served then. A user who says nothing in time, a client that
 * cannot ask after all and a server that stops have not accepted.   MCP 2025-11-25 "Elicitation"
 */
import type { InputRequests, ServerContext } from "@modelcontextprotocol/server";
import { raceAbort } from "../../../base/deadline.ts";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { ToolCall } from "../ask.ts";
import type { McpRequest } from "../front.ts";
import type { Result } from "../tools/call-result.ts";
import { callTool } from "../tools/call-tool.ts";
import { QUESTION } from "./contract-question.ts";
import { LIFE_MS } from "./front-contracts.ts";

type Send = ServerContext["mcpReq"]["send"];

/** How a call begins, and the way to its client. */
interface AskingCall {
  begin(): Promise<JsonRecord>;
  readonly context: Pick<ServerContext, "mcpReq">;
}

/** Calls a tool, and asks the user where that takes a word of the user's. */
export async function callAsking(
  request: McpRequest,
  call: ToolCall,
  { begin, context: { mcpReq } }: AskingCall,
): Promise<Result> {
  const result = await begin();
  if (result["resultType"] !== "input_required") return result as Result;
  const response = await askUser(result["inputRequests"], mcpReq.send, request.front.stopping);
  // A reload may have changed what is allowed while the user thought it over.
  const later: McpRequest = { ...request, front: request.front.latest() };
  try {
    return await callTool(later, {
      ...call,
      requestState: String(result["requestState"]),
      inputResponses: { [QUESTION]: response },
    });
  } finally {
    request.challenge = later.challenge;
  }
}

const CLOSED: JsonRecord = { action: "cancel" };

async function askUser(requests: unknown, send: Send, stopping: AbortSignal): Promise<JsonRecord> {
  const { params } = (requests as Required<InputRequests>)[QUESTION] as { params: JsonRecord };
  const options = { timeout: LIFE_MS, resetTimeoutOnProgress: false };
  try {
    const asked = { method: "elicitation/create" as const, params: params as never };
    const answer: unknown = await raceAbort(send(asked, options), stopping);
    return isRecord(answer) ? answer : CLOSED;
  } catch {
    return CLOSED;
  }
}
