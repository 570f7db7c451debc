/** Why somebody cancels, pauses or resumes a run, in the words of the request. */
import type { JsonRecord } from "../../../base/json-value.ts";
import { type ApiAnswer, refuse } from "./answer.ts";

const MAX_REASON = 1024;

/** As the API's description has it. */
export const REASON_SCHEMA: JsonRecord = { type: "string", maxLength: MAX_REASON };

/** The reason; undefined: none is given. Null: it is none. */
export function readReason({ reason }: JsonRecord): string | undefined | null {
  if (reason === undefined) return undefined;
  return typeof reason === "string" && reason.length <= MAX_REASON ? reason : null;
}

/** The fault of a reason that is none. */
export function badReason(): ApiAnswer {
  return refuse(400, "validation_error", `/reason must be a text of ${MAX_REASON} characters`);
}
