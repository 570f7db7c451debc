/**
 * What a server says of itself, as resources: its manifest, the contracts of the caller, the recipes
 * that contracts are made by. Each is read through the pipeline, as its caller.   MCP "Resources"
 */
import {
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { bodyText } from "./answer-body.ts";
import { answerMeta } from "./answer-meta.ts";
import { ask } from "./ask.ts";
import type { McpRequest } from "./front.ts";
import { refuseRequest } from "./refuse-request.ts";
import { isDone } from "./tool-result.ts";

const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";
const JSON_TYPE = "application/json";

interface Described {
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
}

const DESCRIBED: readonly Described[] = [
  {
    ...{ path: "/", name: "manifest", mimeType: MANIFEST_TYPE },
    description: "The server's manifest: endpoints, methods, agents and policies.",
  },
  {
    ...{ path: "/contracts", name: "contracts", mimeType: JSON_TYPE },
    description: "The contracts that this client has.",
  },
  {
    ...{ path: "/patterns", name: "recipes", mimeType: JSON_TYPE },
    description: "The recipes by which contracts are made.",
  },
];

/** The resources of a server. */
export function listResources(serverId: string): Resource[] {
  return DESCRIBED.map(({ path, name, description, mimeType }) => ({
    ...{ uri: `agtp://${serverId}${path}`, name, description, mimeType },
  }));
}

/** Reads one. */
export async function readResource(request: McpRequest, uri: string): Promise<ReadResourceResult> {
  const { serverId } = request.front;
  const one = DESCRIBED.find(({ path }) => uri === `agtp://${serverId}${path}`);
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
