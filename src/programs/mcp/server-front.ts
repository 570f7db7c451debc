/**
 * MCP's tools in front of one AGTP server: what it lists is listed, a call is a request of the pair
 * that the tool stands for. A server that is away is an error of each call; the next one connects anew.
 */
import type { CallToolResult, ListToolsResult } from "@modelcontextprotocol/server";
import { LRUCache } from "lru-cache";
import type { JsonRecord } from "../../base/json-value.ts";
import { templateNames } from "../../base/template.ts";
import type { AgtpClient, ClientRequest, ClientResponse } from "../../client/agtp-client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { fillPath } from "../../endpoint/fill-path.ts";
import { metaFields, readMeta } from "../../modules/mcp/answer-meta.ts";
import { APPROVED_CALL, APPROVED_CALL_TOOL } from "../../modules/mcp/approved-call-tool.ts";
import { followingIn } from "../../modules/mcp/following.ts";
import { internalError, invalidParams } from "../../modules/mcp/protocol-errors.ts";
import { BAD_CURSOR, pageAt } from "../../modules/mcp/tool-listing.ts";
import { unknownToolText } from "../../modules/mcp/tool-result.ts";
import { byName } from "../../modules/mcp/toolbox.ts";
import { failure, refusalText, responseResult } from "./response-result.ts";
import { readServerTools, type ServerTool, type ServerTools } from "./server-tools.ts";

/** As whom the server is asked. */
export type Caller = Pick<ClientRequest, "agentId" | "scopes" | "headers">;

/** What a front stands on. */
export interface FrontParts {
  readonly client: AgtpClient;
  readonly caller: Caller;
  /** Messages for a person. */
  tell(message: string): void;
  /** Milliseconds. */
  now(): number;
}

/** One call, as the library read it. */
export interface FrontCall {
  readonly name: string;
  readonly arguments: JsonRecord;
  readonly meta: unknown;
  readonly signal: AbortSignal;
  readonly isCurrent: boolean;
}

interface MadeCall {
  readonly tool: ServerTool;
  readonly path: string;
  readonly parameters: JsonRecord;
}

/** A list is asked for again after so long, and not sooner. */
const LIST_MS = 3_000;
const LIST_REQUEST = { method: "DISCOVER", path: "/tools", timeoutMs: 30_000 } as const;
/** A call goes by a list of this age at most. */
const CALL_LIST_MS = 60_000;
/** Calls that wait for an operator. */
const MAX_WAITING = 256;

const APPROVED = {
  name: APPROVED_CALL,
  description: { current: APPROVED_CALL_TOOL, older: APPROVED_CALL_TOOL, isOutputTold: false },
};

/** The tools of a server. */
export class ServerFront {
  readonly #parts: FrontParts;
  readonly #waiting = new LRUCache<string, MadeCall>({ max: MAX_WAITING });
  #known: { readonly tools: Promise<ServerTools>; readonly at: number } | undefined;

  constructor(parts: FrontParts) {
    this.#parts = parts;
  }

  /** Answers `tools/list`. */
  async list(cursor: string | undefined, isCurrent: boolean): Promise<ListToolsResult> {
    const { sorted, byName: own } = await this.#tools(LIST_MS).catch((error: unknown) => {
      throw error instanceof AgtpClientError ? internalError(error.message, {}) : error;
    });
    const all = own.has(APPROVED_CALL) ? sorted : [...sorted, APPROVED].sort(byName);
    const page = pageAt(all, cursor, isCurrent);
    if (page === undefined) throw invalidParams(`cursor ${BAD_CURSOR}`);
    const freshness = isCurrent ? { ttlMs: LIST_MS, cacheScope: "private" as const } : {};
    return { ...page, tools: [...page.tools], ...freshness };
  }

  /** Answers `tools/call`. Throws what is an error of the protocol. */
  async call(call: FrontCall): Promise<CallToolResult> {
    const fields = metaFields(readMeta(call.meta));
    if (typeof fields === "string") throw invalidParams(fields);
    try {
      const tool = await this.#find(call.name);
      if (tool !== undefined) return await this.#callTool(tool, call, fields);
      if (call.name === APPROVED_CALL) return await this.#callApproved(call, fields);
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

  async #make(made: MadeCall, call: FrontCall, fields: Fields): Promise<CallToolResult> {
    const { tool, path, parameters } = made;
    const { signal, isCurrent } = call;
    const { method } = tool;
    const response = await this.#ask({ method, path, parameters, signal }, fields);
    const following = followingIn(response.status, response.body, path);
    if (following?.kind === "approval") this.#waiting.set(following.escalationId, made);
    const { current, isOutputTold } = tool.description;
    const isTold = isCurrent ? current.outputSchema !== undefined : isOutputTold;
    const asked = { meta: readMeta(call.meta), isCurrent, isOutputTold: isTold };
    return responseResult(response, following, asked);
  }

  /** A tool that a list of some age does not have may be new. */
  async #find(name: string): Promise<ServerTool | undefined> {
    const known = (await this.#tools(CALL_LIST_MS)).byName.get(name);
    return known ?? (await this.#tools(LIST_MS)).byName.get(name);
  }

  #tools(maxAgeMs: number): Promise<ServerTools> {
    const at = this.#parts.now();
    if (this.#known !== undefined && at - this.#known.at < maxAgeMs) return this.#known.tools;
    const tools = this.#askTools();
    const asked = { tools, at };
    this.#known = asked;
    // The next one asks again: the server may be back.
    tools.catch(() => {
      if (this.#known === asked) this.#known = undefined;
    });
    return tools;
  }

  async #askTools(): Promise<ServerTools> {
    const response = await this.#ask(LIST_REQUEST, new Map());
    const tools = response.status === 200 ? readServerTools(response.body) : undefined;
    if (tools === undefined) {
      const what = response.status === 200 ? "no list of tools" : refusalText(response);
      throw new AgtpClientError("ERR_AGTP_RESPONSE", `DISCOVER /tools was answered: ${what}`);
    }
    const { leftOut } = tools;
    if (leftOut > 0) this.#parts.tell(`${leftOut} tools of the server are none that MCP can call`);
    return tools;
  }

  #ask(request: ClientRequest, fields: Fields): Promise<ClientResponse> {
    const { client, caller } = this.#parts;
    return client.request({
      ...caller,
      ...request,
      headers: [...(caller.headers ?? []), ...fields],
    });
  }
}

type Fields = ReadonlyMap<string, string>;
