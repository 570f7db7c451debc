/**
 * The library's server with this server's handlers: one per request of 2026-07-28, one per session of 2025-11-25. Each
 * request carries its deployment and its caller.
 * MCP "Base Protocol"
 */
import {
  type AuthInfo,
  type CallToolResult,
  type InputRequests,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { raceAbort } from "../../base/deadline.ts";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { VERSION } from "../../base/version.ts";
import { MANIFEST_TYPE } from "../../identity/manifest-signature.ts";
import { isDone } from "../../wire/message.ts";
import { createAnsweringServer } from "./answering-server.ts";
import { ask, type ToolCall } from "./ask.ts";
import { QUESTION } from "./contracts/contract-question.ts";
import { LIFE_MS } from "./contracts/front-contracts.ts";
import type { McpRequest } from "./front.ts";
import { canElicit } from "./opaque-server.ts";
import { refuseRequest } from "./protocol-errors.ts";
import { tasksOf } from "./tasks/run-task.ts";
import { knowsTasks } from "./tasks/task-requests.ts";
import { answerMeta } from "./tools/answer-meta.ts";
import type { Result } from "./tools/call-result.ts";
import { callTool } from "./tools/call-tool.ts";
import { bodyText } from "./tools/content.ts";
import { listTools } from "./tools/list-tools.ts";

/** Makes a server of one protocol; it keeps no state of a request. */
export function createMcpServer(serverId: string, era: "current" | "older"): Server {
  return createAnsweringServer({ name: serverId, version: VERSION }, era === "current", {
    report: (thrown, context) => requestOf(context).front.reportFault(thrown, context.mcpReq.id),
    list: (cursor, context) => listTools(requestOf(context), cursor, isCurrent(context)),
    call: async (params, context, server) => {
      const request = requestOf(context);
      const { given } = request;
      // The given result is for this call only: after a question the tool is called anew.
      request.given = undefined;
      const call: ToolCall = {
        ...{ name: params.name, arguments: params.arguments ?? {} },
        ...{ meta: context.mcpReq._meta, onLeave: leaving(context.mcpReq.signal) },
        ...{ isCurrent: isCurrent(context), knowsTasks: knowsTasks(context) },
        ...{ canElicit: canElicit(server, context), ...answersIn(context) },
        progress: progressTo(context),
      };
      const begin = async (): Promise<CallToolResult> =>
        given === undefined ? callTool(request, call) : (given() as CallToolResult);
      return call.isCurrent ? begin() : callAsking(request, call, { begin, context });
    },
    resources: () => listResources(serverId),
    read: (uri, context) => readResource(requestOf(context), uri),
    tasksOf: (context) => tasksOf(requestOf(context)),
  });
}

function leaving(signal: AbortSignal): ToolCall["onLeave"] {
  return (listener) => {
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
  };
}

function answersIn({ mcpReq }: ServerContext): Pick<ToolCall, "requestState" | "inputResponses"> {
  return { requestState: mcpReq.requestState<string>(), inputResponses: mcpReq.inputResponses };
}

/** Undefined if the client did not ask for progress. */
function progressTo({ mcpReq }: ServerContext): ToolCall["progress"] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress, total, message) => {
    const counted = {
      ...{ progressToken, progress },
      ...(message === undefined ? {} : { message }),
      ...(total === undefined ? {} : { total }),
    };
    // Progress to a client that has left is lost; its call goes on.
    void mcpReq
      .notify({ method: "notifications/progress", params: counted })
      .catch(() => undefined);
  };
}

const REQUEST = "request";

/** Passes the request through the library's authentication data, which the library does not read. */
export function authInfoOf(request: McpRequest): AuthInfo {
  return { token: "", clientId: request.caller.key, scopes: [], extra: { [REQUEST]: request } };
}

function requestOf({ http }: ServerContext): McpRequest {
  const request = http?.authInfo?.extra?.[REQUEST];
  if (request === undefined) throw new Error("a message came without its request");
  return request as McpRequest;
}

/** Only the current protocol has an envelope. */
function isCurrent({ mcpReq }: ServerContext): boolean {
  return mcpReq.envelope !== undefined;
}

async function readResource(request: McpRequest, uri: string): Promise<ReadResourceResult> {
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

const JSON_TYPE = "application/json";

interface Described {
  /** Path of DISCOVER. */
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

/** Lists the resources of a server. */
export function listResources(serverId: string): Resource[] {
  return DESCRIBED.map(({ path, name, description, mimeType }) => ({
    ...{ uri: `agtp://${serverId}${path}`, name, description, mimeType },
  }));
}

/** Finds the resource with a URI. */
export function findResource(serverId: string, uri: string): Described | undefined {
  return DESCRIBED.find(({ path }) => uri === `agtp://${serverId}${path}`);
}

type Send = ServerContext["mcpReq"]["send"];

/** The start of a call, and the connection to its client. */
interface AskingCall {
  begin(): Promise<JsonRecord>;
  readonly context: Pick<ServerContext, "mcpReq">;
}

/**
 * Calls a tool, and asks the user of a client of 2025-11-25 if the call needs the user's decision: on the call's
 * stream, which continues once the question is answered, under the deployment that is served then. A user who does not
 * answer in time, a client that cannot ask after all, and a server that stops count as not accepted.
 * MCP 2025-11-25 "Elicitation"
 */
async function callAsking(
  request: McpRequest,
  call: ToolCall,
  { begin, context: { mcpReq } }: AskingCall,
): Promise<Result> {
  const result = await begin();
  if (result["resultType"] !== "input_required") return result as Result;
  const response = await askUser(result["inputRequests"], mcpReq.send, request.front.stopping);
  // A reload may have changed the rules while the user was deciding.
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
