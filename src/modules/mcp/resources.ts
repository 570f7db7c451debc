/**
 * What a server says of itself, as resources: its manifest, the contracts of the caller, the recipes
 * that contracts are made by. Each is read through the pipeline, as its caller.   MCP "Resources"
 */
import { type ReadResourceResult, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { bodyText } from "./answer-body.ts";
import { answerMeta } from "./answer-meta.ts";
import { ask } from "./ask.ts";
import { findResource } from "./described-resources.ts";
import type { McpRequest } from "./front.ts";
import { refuseRequest } from "./refuse-request.ts";
import { isDone } from "./tool-result.ts";

/** Reads one. */
export async function readResource(request: McpRequest, uri: string): Promise<ReadResourceResult> {
  const { serverId } = request.front;
  const one = findResource(serverId, uri);
  if (one === undefined) throw new ResourceNotFoundError(uri);
  const fields = new Map([["accept", one.mimeType]]);
  const asking = { method: "DISCOVER", path: one.path, input: {}, fields };
  const answer = await ask(request, asking);
  if (answer === undefined || !isDone(answer.response.status)) throw refuseRequest(request, answer);
  return {
    contents: [{ uri, mimeType: one.mimeType, text: bodyText(answer.response) }],
    _meta: { ...answerMeta(answer, serverId, {}) },
  };
}
