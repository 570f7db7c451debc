/**
 * The answer of an inner dispatch, told apart: a refusal, which is handed on as it is, or an
 * output. A floor method wraps its output, which is taken out again.   AGTP "EXECUTE"
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import type { DispatchResult } from "../../handlers/handler.ts";
import { isStatus, isSuccess, type Status } from "../../wire/message.ts";

/** Either of the two. */
export type InnerAnswer =
  | { readonly kind: "output"; readonly status: Status; readonly output: unknown }
  | Refusal;

/** Takes an answer apart; `isWrapped` where a floor method gave it. */
export function readInnerAnswer(result: DispatchResult, isWrapped: boolean): InnerAnswer {
  const { status, body, headers } = result;
  if (!isStatus(status)) throw new Error(`an inner dispatch answered ${status}`);
  const error = isRecord(body) ? body["error"] : undefined;
  if (!isSuccess(status) && isRecord(body) && isRecord(error)) {
    return refusalOf(status, body, error, headers);
  }
  const output = isWrapped && isEnvelope(body) ? body["result"] : body;
  return { kind: "output", status, output: readable(output) };
}

function isEnvelope(body: unknown): body is JsonRecord {
  return isRecord(body) && typeof body["status"] === "number" && Object.hasOwn(body, "result");
}

/** Its body is made anew of the same members. */
function refusalOf(
  status: Status,
  { error: _, ...carried }: JsonRecord,
  error: JsonRecord,
  headers: DispatchResult["headers"],
): Refusal {
  const { code, message, details } = error;
  return {
    kind: "refusal",
    status,
    code: String(code),
    message: String(message),
    ...(Object.keys(carried).length === 0 ? {} : { carried }),
    ...(details === undefined ? {} : { details }),
    headers,
  };
}

/** Bytes that are no JSON have no other form in a body than their text. */
function readable(output: unknown): unknown {
  return output instanceof Uint8Array ? Buffer.from(output).toString("utf8") : output;
}
