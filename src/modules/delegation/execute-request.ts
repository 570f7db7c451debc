/**
 * A request of EXECUTE: an action with its input, or an MCP tool call carried with or without its JSON-RPC frame. An
 * action is a pair ("BOOK /rooms", or its two members), or the name of a tool, an agent or a floor method. 422 if it
 * cannot be read · 400 `unsupported-content-type` for an unsupported carried protocol.   AGTP "EXECUTE", MCP
 * "tools/call"
 */
import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { badRequest, type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";

/** An unresolved action. */
export type Action =
  | { readonly kind: "pair"; readonly method: string; readonly path: string }
  | { readonly kind: "name"; readonly name: string };

/** The longest action, in characters. */
const MAX_ACTION_LENGTH = 2048;

const PAIR = /^(\S+)[ \t]+(\/\S*)$/;

/** Reads an action, or returns what is wrong with it. */
export function readAction(value: unknown): Action | string {
  if (isRecord(value)) return readPair(value["method"], value["path"] ?? "/");
  if (typeof value !== "string") return 'must be an action like "BOOK /rooms", or its name';
  const text = value.trim();
  if (text === "") return "must not be empty";
  if (text.length > MAX_ACTION_LENGTH) {
    return `must be at most ${MAX_ACTION_LENGTH} characters long`;
  }
  const [, method, path] = PAIR.exec(text) ?? [];
  if (method !== undefined && path !== undefined) return { kind: "pair", method, path };
  if ((FLOOR_METHODS as readonly string[]).includes(text)) {
    return { kind: "pair", method: text, path: "/" };
  }
  return { kind: "name", name: text };
}

function readPair(method: unknown, path: unknown): Action | string {
  const isWritten = typeof method === "string" && typeof path === "string";
  if (!isWritten || method === "") return 'must be {"method": "BOOK", "path": "/rooms"}';
  if (method.length + path.length > MAX_ACTION_LENGTH) {
    return `must be at most ${MAX_ACTION_LENGTH} characters long`;
  }
  return { kind: "pair", method, path };
}

/** The form of an action in answers and runs. */
export function describeAction(action: Action): string {
  return action.kind === "pair" ? `${action.method} ${action.path}` : action.name;
}

/** The action that stands for a carried tool call. */
const MCP_TOOLS_CALL = "mcp.tools.call";

interface McpCall {
  readonly tool: string;
  readonly arguments: JsonRecord;
  /** The id of the JSON-RPC frame, if there is one. */
  readonly id: string | number | undefined;
}

interface CarriedFault {
  readonly path: string;
  readonly message: string;
}

/** Tells whether a content type is MCP's, such as `application/vnd.mcp.tools+json`. */
function isMcpType(contentType: string | undefined): boolean {
  const [type = ""] = (contentType ?? "").split(";", 1);
  return /^application\/(?:vnd\.)?mcp(?:\.[a-z.]+)?\+json$/.test(type.trim().toLowerCase());
}

/** Reads a message; `tool` and `input` are accepted for MCP's `name` and `arguments`. */
function readMcpCall(message: unknown): McpCall | CarriedFault {
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

interface ToldResult {
  readonly text?: string | undefined;
  readonly isError?: boolean;
}

/** The result of `tools/call` for a tool's answer; `text` is the JSON text of the body, if known. */
export function mcpResult(
  body: unknown,
  { id }: Pick<McpCall, "id">,
  { text = JSON.stringify(body), isError = false }: ToldResult = {},
): JsonRecord {
  const result = {
    content: body === undefined ? [] : [{ type: "text", text }],
    ...(isRecord(body) ? { structuredContent: body } : {}),
    isError,
  };
  return id === undefined ? result : { jsonrpc: "2.0", id, result };
}

export interface ExecutionRequest {
  readonly action: Action;
  readonly input: JsonRecord;
  /** Set if the result is to be an MCP result. */
  readonly carried: McpCall | undefined;
}

/** Reads the parameters; `contentType` is the request's own. */
export function readExecution(
  parameters: JsonRecord,
  contentType?: string,
): ExecutionRequest | Refusal {
  // `plan_id` is an older name of `action`.
  const { action: written = parameters["plan_id"], payload_type: type } = parameters;
  const isTyped = typeof type === "string";
  const isMcp = isMcpType(isTyped ? type : contentType);
  // An MCP payload type is accepted without an action or with `mcp.tools.call`, and with no other.
  const mayCarry = written === undefined || written === MCP_TOOLS_CALL;
  if (isTyped && !isJsonType(type) && !(isMcp && mayCarry)) return unknownCarrier(type);
  if (mayCarry && (isMcp || written !== undefined)) {
    return readCarried(parameters, written === undefined);
  }
  if (written === undefined) return violationAt("/action", "required", "is required");
  const action = readAction(written);
  if (typeof action === "string") return violationAt("/action", "type", action);
  const input = readInput(parameters);
  return "kind" in input ? input : { action, input: input.input, carried: undefined };
}

/** Reads the message from `payload`, `parameters` or the whole body. */
function readCarried(parameters: JsonRecord, mayBeWhole: boolean): ExecutionRequest | Refusal {
  const { payload, parameters: inner } = parameters;
  const place = payload !== undefined ? "/payload" : inner !== undefined ? "/parameters" : "";
  if (place === "" && !mayBeWhole) return violationAt("/payload", "required", "is required");
  const call = readMcpCall(payload ?? inner ?? parameters);
  if ("message" in call) return violationAt(place + call.path, "type", call.message);
  const action = readAction(call.tool);
  if (typeof action === "string") return violationAt(`${place}/name`, "type", action);
  return { action, input: call.arguments, carried: call };
}

/** Reads the input of an ordinary action, from either `parameters` or `payload`. */
function readInput({ parameters, payload }: JsonRecord): { readonly input: JsonRecord } | Refusal {
  if (parameters !== undefined && payload !== undefined) {
    return violationAt("/payload", "not", "must not stand beside parameters");
  }
  const input = parameters ?? payload ?? {};
  if (isRecord(input)) return { input };
  const place = parameters === undefined ? "/payload" : "/parameters";
  return violationAt(place, "type", `must be an object, got ${quoteValue(input)}`);
}

function isJsonType(type: string): boolean {
  return /^(?:application|text)\/(?:json|vnd\.agtp\+json|agtp\+json)$/.test(type.toLowerCase());
}

function unknownCarrier(type: string): Refusal {
  const message = `payload_type must be JSON or "application/vnd.mcp.tools+json", got ${quoteValue(type)}`;
  return badRequest("unsupported-content-type", message, { parameter: "payload_type" });
}
