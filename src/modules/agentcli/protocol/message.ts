/**
 * JSON-RPC 2.0 as this protocol has it: one object a line, no batches, and an order in which a message
 * is judged.   agentcli protocol "Envelope", "Error Model"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { errorTypeOf, type Failure, type FailureCode, failureData } from "../failure.ts";

/** The id of a request. */
export type RequestId = string | number | null;

/** A request that can be looked up. */
export interface RpcRequest {
  readonly kind: "request";
  /** Undefined: a notification, which is never answered. */
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: JsonRecord;
}

/** A message that is written. */
export interface RpcResponse {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result?: JsonRecord;
  readonly error?: { readonly code: number; readonly message: string; readonly data: JsonRecord };
}

/** A message that is answered without being looked up; undefined: not even that. */
export interface RefusedMessage {
  readonly kind: "refused";
  readonly response: RpcResponse | undefined;
}

/** The codes of the error model. */
export const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  application: -32000,
} as const;

/** Judges a parsed line. */
export function readMessage(message: unknown): RpcRequest | RefusedMessage {
  if (Array.isArray(message)) return refuse(null, invalid("Batch requests are not supported"));
  if (!isRecord(message)) return refuse(null, invalid("Invalid Request"));
  const hasId = Object.hasOwn(message, "id");
  const { jsonrpc, method, params } = message;
  const id = hasId ? readId(message["id"]) : undefined;
  if (jsonrpc !== "2.0" || typeof method !== "string" || (hasId && id === undefined)) {
    return refuse(hasId ? (id ?? null) : undefined, invalid("Invalid Request"));
  }
  if (params === undefined || params === null) return { kind: "request", id, method, params: {} };
  if (isRecord(params)) return { kind: "request", id, method, params };
  const data = dataOf("invalid_argument");
  return refuse(id, rpcError(RPC_CODES.invalidParams, "Params must be an object", data));
}

/** The response to a line that is no JSON. */
export function parseError(details: string): RpcResponse {
  const error = rpcError(RPC_CODES.parse, "Parse error", { ...dataOf("parse_error"), details });
  return { jsonrpc: "2.0", id: null, error };
}

/** The response to a method that nobody has. */
export function methodNotFound(id: RequestId, method: string): RpcResponse {
  const message = `Method not found: ${method}`;
  const error = rpcError(RPC_CODES.methodNotFound, message, dataOf("unknown_command"));
  return { jsonrpc: "2.0", id, error };
}

/** A result. */
export function resultResponse(id: RequestId, result: JsonRecord): RpcResponse {
  return { jsonrpc: "2.0", id, result };
}

/** A failure: -32602 for what the caller can put right by itself. */
export function failureResponse(id: RequestId, failure: Failure): RpcResponse {
  const { code, message } = failure;
  const isArgument = code === "invalid_argument" || code === "validation_error";
  const number = isArgument ? RPC_CODES.invalidParams : RPC_CODES.application;
  return { jsonrpc: "2.0", id, error: rpcError(number, message, failureData(failure)) };
}

function invalid(message: string): NonNullable<RpcResponse["error"]> {
  return rpcError(RPC_CODES.invalidRequest, message, dataOf("invalid_argument"));
}

function dataOf(code: FailureCode): JsonRecord {
  return { code, error_type: errorTypeOf(code) };
}

function rpcError(
  code: number,
  message: string,
  data: JsonRecord,
): NonNullable<RpcResponse["error"]> {
  return { code, message, data };
}

/** Undefined for what identifies nothing. */
function readId(id: unknown): RequestId | undefined {
  return typeof id === "string" || typeof id === "number" || id === null ? id : undefined;
}

function refuse(id: RequestId | undefined, error: RpcResponse["error"]): RefusedMessage {
  const response = id === undefined || error === undefined ? undefined : { id, error };
  return {
    kind: "refused",
    response: response === undefined ? undefined : { jsonrpc: "2.0", ...response },
  };
}
