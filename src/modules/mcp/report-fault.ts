/**
 * Faults outside the pipeline, in the library or this module: the log gets the cause with an id, and the client the
 * id.
 * -32603 `error_id` · -32000 the store cannot be read or written, which is logged elsewhere
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { serverError } from "../../dispatch/refusals/refusal.ts";
import { storeOutcomeUnknown } from "../../dispatch/refusals/store-refusals.ts";
import type { CallLog } from "../../handlers/handler.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { isStoreUnavailable } from "../../state/store-fault.ts";

/** A JSON-RPC error. */
export interface ToldError {
  readonly code: number;
  readonly message: string;
  readonly data: JsonRecord;
}

/** Logs an error of a JSON-RPC message, and returns the error for its client. */
export type ReportFault = (thrown: unknown, messageId: unknown) => ToldError;

/** Message ids come from clients, so logged ones are cut to this length. */
const MAX_ID = 128;
const INTERNAL = -32_603;
/** The first code of the range for implementations. */
export const REFUSED = -32_000;

/** Creates a reporter that writes to a log. */
export function reportingTo(log: Pick<CallLog, "error">): ReportFault {
  return (error, messageId) => {
    if (isStoreUnavailable(error)) {
      const { code, message } = storeOutcomeUnknown();
      return { code: REFUSED, message, data: { code } };
    }
    const errorId = uuidv7();
    const id = String(messageId).slice(0, MAX_ID);
    log.error(
      { event: "fault", error_id: errorId, request_id: id, error },
      "an MCP request failed",
    );
    const { code, message } = serverError(errorId);
    return { code: INTERNAL, message, data: { code, error_id: errorId } };
  };
}
