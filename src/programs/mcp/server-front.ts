/**
 * Serves MCP in front of one AGTP server: its tools are listed, and a call becomes a request for
 * the tool's method and path. If the server is unreachable, each call fails; the next one
 * reconnects.
 */
import {
  type CallToolResult,
  type ListToolsResult,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { type JsonRecord, recordIn } from "../../base/json-value.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import { templateNames } from "../../base/template.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { AgtpClient, ClientRequest, ClientResponse } from "../../client/agtp-client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { findRounded, unwrapEnvelope } from "../../endpoint/input.ts";
import { fillPath } from "../../endpoint/path-template.ts";
import type { ToolCall } from "../../modules/mcp/ask.ts";
import { PRESENTED } from "../../modules/mcp/contracts/front-contracts.ts";
import {
  APPROVED_CALL,
  contractToolText,
  PROPOSE,
  proposalOf,
} from "../../modules/mcp/contracts/own-tools.ts";
import { findResource, listResources } from "../../modules/mcp/library-server.ts";
import { internalError, invalidParams, refused } from "../../modules/mcp/protocol-errors.ts";
import { taskView } from "../../modules/mcp/tasks/task-requests.ts";
import { followingIn } from "../../modules/mcp/tasks/work-state.ts";
import { metaFields } from "../../modules/mcp/tools/answer-meta.ts";
import { unknownToolText } from "../../modules/mcp/tools/call-result.ts";
import { BAD_CURSOR, pageAt } from "../../modules/mcp/tools/tool-listing.ts";
import { byName } from "../../modules/mcp/tools/toolbox.ts";
import type { HeaderField } from "../../wire/fields.ts";
import { hintFor, type TrustFlags } from "../shell/ask-server.ts";
import { FrontTasks } from "./front-tasks.ts";
import { failure, refusalText, responseResult } from "./response-result.ts";
import { OWN_TOOLS, ServerList } from "./server-list.ts";
import type { ServerTool } from "./server-tools.ts";

interface MadeCall {
  readonly tool: ServerTool;
  readonly path: string;
  readonly parameters: JsonRecord;
}

/** The age after which a request to list tools fetches the list again. */
const LIST_MS = 3_000;
/** The maximum age of a list that calls rely on. */
const CALL_LIST_MS = 60_000;
/** The maximum number of calls that wait for an operator. */
const MAX_WAITING = 256;

export class ServerFront {
  readonly #parts: FrontParts;
  readonly #list: ServerList;
  readonly #waiting = recentlyUsed<MadeCall>(MAX_WAITING);
  readonly tasks: FrontTasks;
  #isAway = false;

  constructor(parts: FrontParts) {
    this.#parts = parts;
    const { tell, now, lookMs } = parts;
    const { agentId, scopes } = parts.caller;
    const ask = (request: ClientRequest): Promise<ClientResponse> => this.#ask(request, NO_FIELDS);
    this.#list = new ServerList({ ask, agentId, scopes, tell, now, lookMs });
    this.tasks = new FrontTasks(({ fields = NO_FIELDS, ...request }) => this.#ask(request, fields));
  }

  /** Sets the listener for tools that differ from those that the client was shown. */
  watch(onChanged: () => void): void {
    this.#list.watch(onChanged);
  }

  close(): void {
    this.#list.close();
  }

  /** Answers `tools/list`. */
  async list(cursor: string | undefined, isCurrent: boolean): Promise<ListToolsResult> {
    const view = await this.#list.view(LIST_MS).catch(asProtocolError);
    this.#list.show(view);
    const { sorted, byName: own } = view.tools;
    const all = [...sorted, ...OWN_TOOLS.filter(({ name }) => !own.has(name))].sort(byName);
    const page = pageAt(all, cursor, isCurrent);
    if (page === undefined) throw invalidParams(`cursor ${BAD_CURSOR}`);
    const freshness = isCurrent ? { ttlMs: LIST_MS, cacheScope: "private" as const } : {};
    return { ...page, tools: [...page.tools], ...freshness };
  }

  /** Answers `resources/list`. */
  async resources(): Promise<Resource[]> {
    const { serverId } = await this.#list.view(CALL_LIST_MS).catch(asProtocolError);
    return serverId === undefined ? [] : listResources(serverId);
  }

  /** Answers `resources/read`. */
  async read(uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    const { serverId } = await this.#list.view(CALL_LIST_MS).catch(asProtocolError);
    const one = serverId === undefined ? undefined : findResource(serverId, uri);
    if (one === undefined) throw new ResourceNotFoundError(uri);
    const { path, mimeType } = one;
    const headers: HeaderField[] = [["Accept", mimeType]];
    const asking = { method: "DISCOVER", path, headers, signal };
    const response = await this.#ask(asking, NO_FIELDS).catch(asProtocolError);
    if (response.status !== 200) throw refused(refusalText(response), {});
    return { contents: [{ uri, mimeType, text: response.text }] };
  }

  /** Answers `tools/call`. Throws protocol errors. */
  async call(call: FrontCall): Promise<CallToolResult> {
    const fields = metaFields(recordIn(call.meta));
    if (typeof fields === "string") throw invalidParams(fields);
    // The library has parsed the message, so such a number has already lost digits.
    const [lost] = findRounded(call.arguments) ?? [];
    if (lost !== undefined) return failure(`${lost.path}: ${lost.message}`);
    try {
      const tool = await this.#find(call.name);
      if (tool !== undefined) return await this.#callTool(tool, call, fields);
      if (call.name === APPROVED_CALL) return await this.#callApproved(call, fields);
      if (call.name === PROPOSE) return await this.#propose(call, fields);
    } catch (error) {
      if (!(error instanceof AgtpClientError)) throw error;
      return failure(error.message);
    }
    throw invalidParams(unknownToolText(call.name));
  }

  #callTool(tool: ServerTool, call: FrontCall, fields: Fields): Promise<CallToolResult> {
    const filled = fillPath(tool.path, new Map(Object.entries(call.arguments)));
    if (filled.fault !== undefined) return Promise.resolve(failure(filled.fault));
    const inPath = new Set(templateNames(tool.path));
    const rest = Object.entries(call.arguments).filter(([name]) => !inPath.has(name));
    const made = { tool, path: filled.path, parameters: Object.fromEntries(rest) };
    return this.#make(made, call, fields);
  }

  async #callApproved(call: FrontCall, fields: Fields): Promise<CallToolResult> {
    const id = call.arguments["escalation_id"];
    const made = typeof id === "string" ? this.#waiting.get(id) : undefined;
    if (typeof id !== "string" || made === undefined) {
      return failure("escalation_id names no call that was made here and waits for an approval");
    }
    return this.#make(made, call, new Map([...fields, ["escalation-id", id]]));
  }

  /** The answer to a proposal accepts a composed contract, which becomes a tool. */
  async #propose(
    { arguments: input, meta, signal, isCurrent }: FrontCall,
    fields: Fields,
  ): Promise<CallToolResult> {
    const request = { method: "PROPOSE", path: "/", parameters: proposalOf(input), signal };
    const response = await this.#ask(request, fields);
    const asked = { meta: recordIn(meta), isCurrent, isOutputTold: false, isContent: false };
    const result = responseResult(response, undefined, asked);
    if (response.status !== 263) return result;
    const { tools } = await this.#list.view(0);
    const id = recordIn(response.body)["synthesis_id"];
    const tool = tools.sorted.find(({ contract }) => contract !== undefined && contract === id);
    if (tool === undefined) return result;
    const text = contractToolText(tool.name);
    return { ...result, content: [...result.content, { type: "text", text }] };
  }

  async #make(made: MadeCall, call: FrontCall, fields: Fields): Promise<CallToolResult> {
    const { tool, path, parameters } = made;
    const { signal, isCurrent } = call;
    const { method, contract } = tool;
    // The server would mistake these parameters for an envelope, so they are wrapped in one.
    const envelope = unwrapEnvelope(parameters, method).parameters !== parameters;
    const request = { method, path, parameters, envelope };
    const isPresented = contract === undefined || fields.has(PRESENTED);
    const all = isPresented ? fields : new Map([...fields, [PRESENTED, contract] as const]);
    const response = await this.#ask({ ...request, signal }, all);
    if (DOUBTFUL.has(response.status)) this.#list.doubt();
    const following = followingIn(response.status, response.body, path);
    if (following?.kind === "approval") this.#waiting.set(following.escalationId, made);
    const { current, isOutputTold, isContent } = tool.description;
    const isTold = isCurrent ? current.outputSchema !== undefined : isOutputTold;
    const asked = { meta: recordIn(call.meta), isCurrent, isOutputTold: isTold, isContent };
    if (following === undefined || !call.knowsTasks) {
      return responseResult(response, following, asked);
    }
    // The escalation of an earlier approval is dropped: the task adds the one it waits for.
    const lasting = new Map([...all].filter(([name]) => name !== "escalation-id"));
    const begun = { tool: call.name, request: { ...request, fields: lasting }, asked };
    const task = taskView(this.tasks.begin(begun, following));
    return { resultType: "task", ...task } as unknown as CallToolResult;
  }

  /** A tool that is missing in an older list may be new. */
  async #find(name: string): Promise<ServerTool | undefined> {
    const known = (await this.#list.view(CALL_LIST_MS)).tools.byName.get(name);
    return known ?? (await this.#list.view(LIST_MS)).tools.byName.get(name);
  }

  async #ask(request: ClientRequest, fields: Fields): Promise<ClientResponse> {
    const { client, caller } = this.#parts;
    const headers = [...(caller.headers ?? []), ...(request.headers ?? []), ...fields];
    try {
      const response = await client.request({ ...caller, ...request, headers });
      this.#noteAway(undefined);
      return response;
    } catch (error) {
      if (request.signal?.aborted !== true) this.#noteAway(error);
      throw error;
    }
  }

  /** Reports once that a server is unreachable, and once that it is back. */
  #noteAway(error: unknown): void {
    const isAway = error !== undefined;
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    const { tell, trust } = this.#parts;
    const hint = error instanceof AgtpClientError ? hintFor(error, trust) : undefined;
    const remark = hint === undefined ? "" : ` (${hint})`;
    tell(isAway ? `the server cannot be asked: ${reasonOf(error)}${remark}` : "the server is back");
  }
}

function asProtocolError(error: unknown): never {
  throw error instanceof AgtpClientError ? internalError(error.message, {}) : error;
}

type Fields = ReadonlyMap<string, string>;
const NO_FIELDS: Fields = new Map();
/** Statuses that suggest that the endpoint has changed since it was listed. */
const DOUBTFUL: ReadonlySet<number> = new Set([404, 405, 410, 422, 464]);

interface FrontParts {
  readonly client: AgtpClient;
  /** The caller's identity. */
  readonly caller: Pick<ClientRequest, "agentId" | "scopes" | "headers">;
  /** The trust options of the program. */
  readonly trust: TrustFlags;
  tell(message: string): void;
  /** Milliseconds. */
  now(): number;
  readonly lookMs: number;
}

interface FrontCall
  extends Pick<ToolCall, "name" | "arguments" | "meta" | "isCurrent" | "knowsTasks"> {
  readonly signal: AbortSignal;
}
