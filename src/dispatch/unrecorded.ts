/**
 * The reply in the place of one whose record is not known to be kept: what was asked for may have
 * been done, so it is neither acknowledged nor denied. It carries no record.
 * AGTP-IDENTIFIERS "Attribution-Record"
 */
import type { Response } from "../wire/message.ts";
import { fieldLines } from "../wire/serialize.ts";
import { recordOutcomeUnknown, refusalText } from "./refusals/refusal.ts";
import { AGTP_JSON } from "./reply.ts";

/** The fields that say whose answer to what it is; all others are of the reply that is lost. */
const CARRIED: ReadonlySet<string> = new Set([
  ...["Server-ID", "AGTP-API-Version", "Response-ID", "Supported-Methods"],
  ...["Agent-ID", "Request-ID", "Task-ID"],
]);

/** The response as it may leave: itself, or 503 `outcome-unknown` where its record is not known. */
export function asRecorded(response: Response): Response {
  return response.lateFields?.isKnown === false ? withoutRecord(response) : response;
}

function withoutRecord({ responseId, fields }: Response): Response {
  const refusal = recordOutcomeUnknown();
  const lines = fields
    .split("\r\n")
    .filter((line) => CARRIED.has(line.slice(0, line.indexOf(":"))));
  const carried = lines.map((line) => `${line}\r\n`).join("");
  const own = { ...refusal.headers, "Content-Type": AGTP_JSON };
  return {
    ...{ status: refusal.status, responseId, body: refusalText(refusal) },
    fields: carried + fieldLines(Object.entries(own)),
  };
}
