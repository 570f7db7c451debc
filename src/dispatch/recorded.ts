/**
 * No answer leaves, is told of or is worked with before it is known that its record is kept. In the
 * place of one whose record is lost stands 503 `outcome-unknown`: what was asked for may have been
 * done, so it is neither acknowledged nor denied.   AGTP-IDENTIFIERS "Attribution-Record"
 */

import { decodeJws } from "../identity/jws.ts";
import { RecordDraft } from "../state/records/draft.ts";
import type { Ledger } from "../state/records/ledger.ts";
import type { ApprovalOutcome } from "../state/registers/approval.ts";
import { fieldLines, type Response } from "../wire/message.ts";
import type { Observer } from "./observer.ts";
import { refusalText } from "./refusals/refusal.ts";
import { recordOutcomeUnknown } from "./refusals/store-refusals.ts";
import { AGTP_JSON, replyToRefusal } from "./reply.ts";

/** The part of the ledger that says when it is known what became of records. */
export type Recording = Pick<Ledger, "whenSettled">;

/** Calls back once it is known of all these responses, with what may leave in the place of each. */
export function onceRecorded(
  ledger: Recording,
  responses: readonly Response[],
  leave: (leaving: readonly Response[]) => void,
): void {
  ledger.whenSettled(() => leave(responses.map(asRecorded)), responses);
}

/** One answer, of whose record it is known what became. */
export interface Recorded {
  /** As it may leave. */
  readonly response: Response;
  /** False: the record is not known to be kept. */
  readonly isKept: boolean;
  /** The failure that the ledger has met meanwhile. */
  readonly failure: Error | undefined;
}

/** Resolves once it is known what became of the record of one answer. */
export function recorded(ledger: Recording, response: Response): Promise<Recorded> {
  return new Promise((resolve) => {
    const responses = [response];
    ledger.whenSettled((failure) => {
      const leaving = asRecorded(response);
      resolve({ response: leaving, isKept: leaving === response, failure });
    }, responses);
  });
}

/** The record of an answer; undefined: none is kept. */
export function recordOf({ lateFields }: Response): RecordDraft | undefined {
  return lateFields instanceof RecordDraft && lateFields.isKnown ? lateFields : undefined;
}

const { status: LOST_STATUS } = recordOutcomeUnknown();

/** Tells of requests as they were answered, once that is known. */
export function observeRecorded(observer: Observer, ledger: Recording): Observer {
  return {
    ...observer,
    end: (exchange, response, reply) => {
      if (response.lateFields?.isKnown !== false) {
        observer.end(exchange, response, reply);
        return;
      }
      // A request that waits to be told of outlives its turn, which takes the collector as long as its record takes.
      if (!observer.hears(response.status) && !observer.hears(LOST_STATUS)) return;
      ledger.whenSettled(() => {
        const sent = asRecorded(response);
        const isLost = sent !== response;
        observer.end(exchange, sent, isLost ? replyToRefusal(recordOutcomeUnknown()) : reply);
      }, [response]);
    },
    // Its line comes behind those of the requests before it.
    wireFault: (fault, response, peer) => {
      ledger.whenSettled(() => observer.wireFault(fault, response, peer));
    },
  };
}

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

/**
 * The answer as its record has it, also one that an earlier process gave: found in the chain of the agent
 * that was answered, from its end back to the time of the call; undefined: there is no such record.
 */
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
