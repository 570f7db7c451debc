/** Refusals because the store or the journal fails, or no longer has something. */
import type { WhereCut } from "../../state/journal/archived-records.ts";
import { type Refusal, refusal } from "./refusal.ts";
import type { RefusalCode } from "./refusal-code.ts";

/** 503: the agent's action could not be recorded, so it is not started. */
export function attributionUnavailable(): Refusal {
  const message = "the server cannot record what it does, and does nothing for now";
  return refusal(503, "attribution-unavailable", message);
}

/** The wait is short, since each request tries the store itself. */
const STORE_RETRY = { "Retry-After": "1" };

/** 503: the store cannot be read or written; nothing was done, and no record was chained. */
export function storeUnavailable(): Refusal {
  const message = "the server cannot keep or read what this needs, and has done nothing";
  return refusal(503, "store-unavailable", message, { headers: STORE_RETRY });
}

/** 503: records cannot be kept, in the journal or in the store. */
export function recordsUnavailable({ isInStore }: RecordsPlace): Refusal {
  return isInStore ? storeUnavailable() : attributionUnavailable();
}

interface RecordsPlace {
  readonly isInStore: boolean;
}

/** 503: the store failed midway, and nobody can tell how much was done. */
export function storeOutcomeUnknown(): Refusal {
  const message =
    "the server's store failed while this was done, and it may have been done in part";
  return refusal(503, "outcome-unknown", message, { headers: STORE_RETRY });
}

/** 503: the request was answered, but nobody can tell if the record of the answer is kept. */
export function recordOutcomeUnknown(): Refusal {
  const message = "this may have been done, and the record of it may not be kept";
  return refusal(503, "outcome-unknown", message, { headers: STORE_RETRY });
}

/** 503: the server stopped while the request was running; used for its record only. */
export function endOutcomeUnknown(): Refusal {
  const message = "the server ended while this was done, and it may have been done in part";
  return refusal(503, "outcome-unknown", message);
}

/** Tells whether an answer leaves the outcome unknown. */
export function isOutcomeUnknown({
  status,
  code,
}: {
  readonly status: number;
  readonly code: string;
}): boolean {
  return status === 503 && code === ("outcome-unknown" satisfies RefusalCode);
}

/** 410: the record was in the journal, and was cut by the operator's limit of age or size. */
export function recordGone({ isArchived, segment, through }: WhereCut): Refusal {
  const code = isArchived ? "record-archived" : "record-removed";
  const message = isArchived
    ? "the record was moved to the operator's archive"
    : "the record was removed, as the operator's retention demands";
  const details = { cut_through: through, ...(segment === undefined ? {} : { segment }) };
  return refusal(410, code, message, { details });
}
