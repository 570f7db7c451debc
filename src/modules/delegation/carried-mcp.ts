/**
 * A tool call of MCP, carried in AGTP: the message as MCP's clients write it, with or without its
 * JSON-RPC frame, and the result as they read it. AGTP's status says whether the call was done.
 * AGTP "EXECUTE", MCP "tools/call"
 */
import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";

/** The action that stands for a carried tool call. */
export const MCP_TOOLS_CALL = "mcp.tools.call";

/** A tool call. */
export interface McpCall {
  readonly tool: string;
  readonly arguments: JsonRecord;
  /** The id of a message in JSON-RPC's frame. */
  readonly id: string | number | undefined;
}

/** The fault of a message, and where. */
interface CarriedFault {
  readonly path: string;
  readonly message: string;
}

/** Tells whether a content type is MCP's: `application/vnd.mcp.tools+json` and its kin. */
export function isMcpType(contentType: string | undefined): boolean {
  const [type = ""] = (contentType ?? "").split(";", 1);
  return /^application\/(?:vnd\.)?mcp(?:\.[a-z.]+)?\+json$/.test(type.trim().toLowerCase());
}

/** Reads a message; `name` and `arguments` are MCP's words, `tool` and `input` are taken for them. */
export function readMcpCall(message: unknown): McpCall | CarriedFault {
  if (!isRecord(message)) return { path: "", message: "must be the body of an MCP tools/call" };
  if (message["jsonrpc"] === undefined) return readParameters(message, undefined, "");
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0") {
    return { path: "/jsonrpc", message: `must be "2.0", got ${quoteValue(jsonrpc)}` };
  }
  if (method !== "tools/call") {
    return { path: "/method", message: `must be "tools/call", got ${quoteValue(method)}` };
  }
  if (id !== undefined && typeof id !== "string" && typeof id !== "number") {
    return { path: "/id", message: "must be a string or a number" };
  }
  if (!isRecord(params)) return { path: "/params", message: "must be an object" };
  return readParameters(params, id, "/params");
}

function readParameters(
  { name, tool = name, arguments: given, input = given }: JsonRecord,
  id: McpCall["id"],
  at: string,
): McpCall | CarriedFault {
  if (typeof tool !== "string" || tool === "") {
    return { path: `${at}/name`, message: "must be the name of a tool" };
  }
  if (input !== undefined && !isRecord(input)) {
    return { path: `${at}/arguments`, message: "must be an object" };
  }
  return { tool, arguments: input ?? {}, id };
}

/** The answer of a tool, as the result of `tools/call`. */
export function mcpResult(body: unknown, { id }: Pick<McpCall, "id">): JsonRecord {
  const result = {
    content: body === undefined ? [] : [{ type: "text", text: JSON.stringify(body) }],
    ...(isRecord(body) ? { structuredContent: body } : {}),
    isError: false,
  };
  return id === undefined ? result : { jsonrpc: "2.0", id, result };
}
