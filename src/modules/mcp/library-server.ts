/**
 * The library's server with this server's handlers: one for each request of 2026-07-28, one for each
 * session of 2025-11-25. Which deployment answers, and for whom, comes with every request.
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

/** Makes a server of one protocol; nothing of a request is kept in it. */
export function createMcpServer(serverId: string, era: "current" | "older"): Server {
  return createAnsweringServer({ name: serverId, version: VERSION }, era === "current", {
    report: (thrown, context) => requestOf(context).front.reportFault(thrown, context.mcpReq.id),
    list: (cursor, context) => listTools(requestOf(context), cursor, isCurrent(context)),
    call: async (params, context, server) => {
      const request = requestOf(context);
      const { given } = request;
      // A client that was asked for more calls again, with what there is by then.
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

/** Undefined where the client has not asked for it. */
function progressTo({ mcpReq }: ServerContext): ToolCall["progress"] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress, total, message) => {
    const counted = {
      ...{ progressToken, progress },
      ...(message === undefined ? {} : { message }),
      ...(total === undefined ? {} : { total }),
    };
    // A client that has gone hears nothing; its call goes on.
    void mcpReq
      .notify({ method: "notifications/progress", params: counted })
      .catch(() => undefined);
  };
}

const REQUEST = "request";

/** The library hands on what it was given of a caller, and reads none of it. */
export function authInfoOf(request: McpRequest): AuthInfo {
  return { token: "", clientId: request.caller.key, scopes: [], extra: { [REQUEST]: request } };
}

function requestOf({ http }: ServerContext): McpRequest {
  const request = http?.authInfo?.extra?.[REQUEST];
  if (request === undefined) throw new Error("a message came without its request");
  return request as McpRequest;
}

/** The envelope is what the current protocol has and the older one has not. */
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
  /** Of DISCOVER. */
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

/** The one that a URI names. */
export function findResource(serverId: string, uri: string): Described | undefined {
  return DESCRIBED.find(({ path }) => uri === `agtp://${serverId}${path}`);
}

type Send = ServerContext["mcpReq"]["send"];

/** How a call begins, and the way to its client. */
interface AskingCall {
  begin(): Promise<JsonRecord>;
  readonly context: Pick<ServerContext, "mcpReq">;
}

/**
 * Calls a tool, and asks the user of a client of 2025-11-25 where that takes a word of the user's: on the stream
 * of the call, which goes on once the question is answered, under the deployment that is served then. A user who
 * says nothing in time, a client that cannot ask after all and a server that stops have not accepted.
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
