/**
 * Answers one line of JSON-RPC 2.0 with one object; batches are not supported. A faulty line does not affect the next
 * one.   agentcli protocol "Transport", "Envelope", "Error Model"
 */

import { lossOf } from "../../../base/exact-numbers.ts";
import { type JsonBounds, jsonExcess } from "../../../base/json-bounds.ts";
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

/** The maximum length of a line in octets. */
export const MAX_LINE_BYTES: number = 16 * 1024 * 1024;

/** The bounds of a line or a manifest file; each object may be a task, and as expensive as one. */
export const MANIFEST_BOUNDS: JsonBounds = {
  ...{ depth: 200_000, members: 500_000, values: 500_000, containers: 150_000 },
};

/** The manifest is one level deeper in `params`. */
const MAX_PARAMS_DEPTH = MAX_DEPTH + 2;

/** Reports a fault of this program, of which the caller learns only a message. */
export type ReportFault = (error: unknown) => void;

/** Undefined for blank lines and notifications. */
export async function answerLine(
  line: Line,
  context: MethodContext,
  report: ReportFault,
): Promise<RpcResponse | undefined> {
  const message = readLine(line);
  if (message === undefined) return undefined;
  const { id } = message;
  const outcome = "error" in message ? message : await answerRequest(message, context, report);
  if (id === undefined) return undefined;
  return "error" in outcome
    ? { jsonrpc: "2.0", id, error: outcome.error }
    : { jsonrpc: "2.0", id, result: outcome.result };
}

async function answerRequest(
  { method: name, params }: RpcRequest,
  context: MethodContext,
  report: ReportFault,
): Promise<{ readonly result: JsonRecord } | { readonly error: RpcError }> {
  const method = findMethod(name);
  if (method === undefined) {
    return { error: rpcError("methodNotFound", `Method not found: ${name}`, "unknown_command") };
  }
  if (isTooDeep(params, MAX_PARAMS_DEPTH)) {
    const message = `Params must not be nested deeper than ${MAX_PARAMS_DEPTH} levels`;
    return { error: errorOf(invalidArgument(message)) };
  }
  try {
    const outcome = await method(params, context);
    return isFailure(outcome) ? { error: errorOf(outcome) } : { result: outcome };
  } catch (error) {
    report(error);
    return { error: errorOf(failure("internal_error", "Internal error")) };
  }
}

type RequestId = string | number | null;

/** A valid request; without an id it is a notification, which is never answered. */
interface RpcRequest {
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: JsonRecord;
}

/** An invalid message, answered with an error if it has an id. */
interface RefusedMessage {
  readonly id: RequestId | undefined;
  readonly error: RpcError;
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: JsonRecord;
}

interface RpcResponse {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result?: JsonRecord;
  readonly error?: RpcError;
}

const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  application: -32000,
} as const;

/** Reads the message of a line; undefined if blank. */
function readLine(line: Line): RpcRequest | RefusedMessage | undefined {
  if (line.kind === "too-long") return parseError(`the line exceeds ${MAX_LINE_BYTES} bytes`);
  try {
    const excess = jsonExcess(line.octets, MANIFEST_BOUNDS);
    if (excess !== undefined) return parseError(`the line ${excess}`);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line.octets);
    return text.trim() === "" ? undefined : readMessage(JSON.parse(text));
  } catch (error) {
    return parseError(reasonOf(error));
  }
}

function readMessage(message: unknown): RpcRequest | RefusedMessage {
  if (Array.isArray(message)) return invalid(null, "Batch requests are not supported");
  if (!isRecord(message)) return invalid(null, "Invalid Request");
  const hasId = Object.hasOwn(message, "id");
  const { jsonrpc, method, params } = message;
  const id = hasId ? readId(message["id"]) : undefined;
  if (jsonrpc !== "2.0" || typeof method !== "string" || (hasId && id === undefined)) {
    return invalid(hasId ? (id ?? null) : undefined, "Invalid Request");
  }
  if (params === undefined || params === null) return { id, method, params: {} };
  if (isRecord(params)) return { id, method, params };
  return { id, error: rpcError("invalidParams", "Params must be an object", "invalid_argument") };
}

/** Undefined for values that are no id, or that the answer could not repeat exactly. */
function readId(id: unknown): RequestId | undefined {
  if (typeof id === "number") return lossOf(id) === undefined ? id : undefined;
  return typeof id === "string" || id === null ? id : undefined;
}

function parseError(details: string): RefusedMessage {
  return { id: null, error: rpcError("parse", "Parse error", "parse_error", { details }) };
}

function invalid(id: RequestId | undefined, message: string): RefusedMessage {
  return { id, error: rpcError("invalidRequest", message, "invalid_argument") };
}

/** Converts a failure; -32602 if the caller can correct it. */
function errorOf(failure: Failure): RpcError {
  const { code, message } = failure;
  const isArgument = code === "invalid_argument" || code === "validation_error";
  const number = RPC_CODES[isArgument ? "invalidParams" : "application"];
  return { code: number, message, data: failureData(failure) };
}

function rpcError(
  kind: keyof typeof RPC_CODES,
  message: string,
  code: FailureCode,
  more: JsonRecord = {},
): RpcError {
  const data = { code, error_type: errorTypeOf(code), ...more };
  return { code: RPC_CODES[kind], message, data };
}
