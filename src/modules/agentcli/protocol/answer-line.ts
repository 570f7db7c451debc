/**
 * From one line of JSON-RPC 2.0 to its answer: one object a line, no batches. Whatever goes wrong
 * with a line, the next is answered as if this one had not been.   agentcli protocol "Transport",
 * "Envelope", "Error Model"
 */

import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { Line } from "../../../base/line-reader.ts";
import { isTooDeep, MAX_DEPTH } from "../../../base/nesting.ts";
import { reasonOf } from "../../../base/thrown.ts";
import {
  errorTypeOf,
  type Failure,
  type FailureCode,
  failure,
  failureData,
  invalidArgument,
  isFailure,
} from "../failure.ts";
import type { MethodContext } from "../methods/method.ts";
import { findMethod } from "../methods/method-table.ts";

/** Lines of more octets are not read. */
export const MAX_LINE_BYTES: number = 16 * 1024 * 1024;

/** Params hold a manifest, one level further down. */
const MAX_PARAMS_DEPTH = MAX_DEPTH + 2;

/** The message when this program is at fault; the log has the rest. */
export type ReportFault = (error: unknown) => void;

/** Undefined for blank lines and notifications. */
export async function answerLine(
  line: Line,
  context: MethodContext,
  report: ReportFault,
): Promise<RpcResponse | undefined> {
  if (line.kind === "too-long") return parseError(`the line exceeds ${MAX_LINE_BYTES} bytes`);
  let message: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line.octets);
    if (text.trim() === "") return undefined;
    message = JSON.parse(text);
  } catch (error) {
    return parseError(reasonOf(error));
  }
  const request = readMessage(message);
  if (request.kind === "refused") return request.response;
  const response = await answerRequest(request, context, report);
  return request.id === undefined ? undefined : response;
}

async function answerRequest(
  { id = null, method: name, params }: RpcRequest,
  context: MethodContext,
  report: ReportFault,
): Promise<RpcResponse> {
  const method = findMethod(name);
  if (method === undefined) return methodNotFound(id, name);
  if (isTooDeep(params, MAX_PARAMS_DEPTH)) {
    const message = `Params must not be nested deeper than ${MAX_PARAMS_DEPTH} levels`;
    return failureResponse(id, invalidArgument(message));
  }
  try {
    const outcome = await method(params, context);
    return isFailure(outcome) ? failureResponse(id, outcome) : resultResponse(id, outcome);
  } catch (error) {
    report(error);
    return failureResponse(id, failure("internal_error", "Internal error"));
  }
}

/** The id of a request. */
type RequestId = string | number | null;

/** A request that can be looked up. */
interface RpcRequest {
  readonly kind: "request";
  /** Undefined: a notification, which is never answered. */
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: JsonRecord;
}

/** A message that is written. */
interface RpcResponse {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result?: JsonRecord;
  readonly error?: { readonly code: number; readonly message: string; readonly data: JsonRecord };
}

/** A message that is answered without being looked up; undefined: not even that. */
interface RefusedMessage {
  readonly kind: "refused";
  readonly response: RpcResponse | undefined;
}

/** The codes of the error model. */
const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  application: -32000,
} as const;

/** Judges a parsed line. */
function readMessage(message: unknown): RpcRequest | RefusedMessage {
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
function parseError(details: string): RpcResponse {
  const error = rpcError(RPC_CODES.parse, "Parse error", { ...dataOf("parse_error"), details });
  return { jsonrpc: "2.0", id: null, error };
}

/** The response to a method that nobody has. */
function methodNotFound(id: RequestId, method: string): RpcResponse {
  const message = `Method not found: ${method}`;
  const error = rpcError(RPC_CODES.methodNotFound, message, dataOf("unknown_command"));
  return { jsonrpc: "2.0", id, error };
}

/** A result. */
function resultResponse(id: RequestId, result: JsonRecord): RpcResponse {
  return { jsonrpc: "2.0", id, result };
}

/** A failure: -32602 for what the caller can put right by itself. */
function failureResponse(id: RequestId, failure: Failure): RpcResponse {
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
