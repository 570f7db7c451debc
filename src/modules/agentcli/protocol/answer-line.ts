/**
 * From one line to its answer. Whatever the line is, and whatever goes wrong with it, the next line is
 * answered as if this one had not been.   agentcli protocol "Transport"
 */

import type { Line } from "../../../base/line-reader.ts";
import { isTooDeep, MAX_DEPTH } from "../../../base/nesting.ts";
import { reasonOf } from "../../../base/thrown.ts";
import { failure, invalidArgument, isFailure } from "../failure.ts";
import type { MethodContext } from "../methods/method.ts";
import { findMethod } from "../methods/method-table.ts";
import {
  failureResponse,
  methodNotFound,
  parseError,
  type RpcRequest,
  type RpcResponse,
  readMessage,
  resultResponse,
} from "./message.ts";

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
