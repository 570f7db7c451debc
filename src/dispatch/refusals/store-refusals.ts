/** Refusals for what the store or the journal cannot keep, does not know, or has no more. */
import type { WhereCut } from "../../state/journal/archived-records.ts";
import { type Refusal, refusal } from "./refusal.ts";
import type { RefusalCode } from "./refusal-code.ts";

/** 503: what this agent does could not be recorded, so it is not begun. */
export function attributionUnavailable(): Refusal {
  const message = "the server cannot record what it does, and does nothing for now";
  return refusal(503, "attribution-unavailable", message);
}

/** Each request tries the store itself, so that none has to wait for another to find it mended. */
const STORE_RETRY = { "Retry-After": "1" };

/** 503: what the request needs kept or read cannot be; nothing was done, and nothing is in a chain. */
export function storeUnavailable(): Refusal {
  const message = "the server cannot keep or read what this needs, and has done nothing";
  return refusal(503, "store-unavailable", message, { headers: STORE_RETRY });
}

/** 503: records cannot be kept, in a journal or in the store. */
export function recordsUnavailable({ isInStore }: RecordsPlace): Refusal {
  return isInStore ? storeUnavailable() : attributionUnavailable();
}

interface RecordsPlace {
  readonly isInStore: boolean;
}

/** 503: as much was done as could be before the store failed; nobody can say how much. */
export function storeOutcomeUnknown(): Refusal {
  const message =
    "the server's store failed while this was done, and it may have been done in part";
  return refusal(503, "outcome-unknown", message, { headers: STORE_RETRY });
}

/** 503: it was answered, and nobody can say whether the record of the answer is kept. */
export function recordOutcomeUnknown(): Refusal {
  const message = "this may have been done, and the record of it may not be kept";
  return refusal(503, "outcome-unknown", message, { headers: STORE_RETRY });
}

/** 503: the server ended while it was done, and waits for it no longer; for the record alone. */
export function endOutcomeUnknown(): Refusal {
  const message = "the server ended while this was done, and it may have been done in part";
  return refusal(503, "outcome-unknown", message);
}

/** Tells whether an answer leaves open what was done. */
export function isOutcomeUnknown({
  status,
  code,
}: {
  readonly status: number;
  readonly code: string;
}): boolean {
  return status === 503 && code === ("outcome-unknown" satisfies RefusalCode);
}

/** 410: the record was in the journal, and went with the age or the size that the operator set. */
export function recordGone({ isArchived, segment, through }: WhereCut): Refusal {
  const code = isArchived ? "record-archived" : "record-removed";
  const message = isArchived
    ? "the record was moved to the operator's archive"
    : "the record was removed, as the operator's retention demands";
  const details = { cut_through: through, ...(segment === undefined ? {} : { segment }) };
  return refusal(410, code, message, { details });
}
