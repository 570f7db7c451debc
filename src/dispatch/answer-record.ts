/**
 * The record of an answer that this or an earlier process gave: found in the chain of the agent that
 * was answered, from its end back to the time of the call.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { decodeJws } from "../identity/jws.ts";
import type { Ledger } from "../state/records/ledger.ts";
import type { ApprovalOutcome } from "../state/registers/approval.ts";

/** The ids that the answer is known by. */
export interface AnswerMark {
  readonly responseId: string;
  /** When the call began, in milliseconds since the epoch. */
  readonly at: number;
}

/** As many records of one agent as are read for it; those of a running process are known without. */
const MAX_RECORDS = 10_000;
/** A chain's times never go back, the machine's clock may. */
const CLOCK_STEP_MS = 3_600_000;

/** The answer as its record has it; undefined: there is no such record. */
export async function findAnswer(
  ledger: Pick<Ledger, "currentHeadOf" | "find">,
  agentId: string,
  { responseId, at }: AnswerMark,
): Promise<ApprovalOutcome | undefined> {
  let auditId = (await ledger.currentHeadOf(agentId))?.auditId;
  for (let count = 0; auditId !== undefined && count < MAX_RECORDS; count += 1) {
    const jws = await ledger.find(auditId);
    const payload = jws === undefined ? undefined : decodeJws(jws)?.payload;
    if (payload === undefined) return undefined;
    const { status, response_id: found, previous_audit_id: previous, issued_at: issued } = payload;
    if (found === responseId && typeof status === "number") return { status, auditId };
    if (Date.parse(String(issued)) < at - CLOCK_STEP_MS) return undefined;
    auditId = typeof previous === "string" ? previous : undefined;
  }
  return undefined;
}
