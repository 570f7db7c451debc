/**
 * Faults outside of the pipeline, in what the library or this module does before and after it: the log
 * has the cause with an id, and the client the id.
 * -32603 `error_id` · -32000 the store cannot be read or written, of which the log is told elsewhere
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { serverError } from "../../dispatch/refusals/refusal.ts";
import { storeOutcomeUnknown } from "../../dispatch/refusals/store-refusals.ts";
import type { CallLog } from "../../handlers/handler.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { isStoreUnavailable } from "../../state/store-fault.ts";

/** An error of JSON-RPC. */
export interface ToldError {
  readonly code: number;
  readonly message: string;
  readonly data: JsonRecord;
}

/** Keeps what was thrown in a message of JSON-RPC, and gives the error that its client is told. */
export type ReportFault = (thrown: unknown, messageId: unknown) => ToldError;

/** A client makes up the ids of its messages. */
const MAX_ID = 128;
const INTERNAL = -32_603;
/** The first of the codes that an implementation may give a meaning of its own. */
export const REFUSED = -32_000;

/** Reports to a log. */
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
