/**
 * No answer leaves, and none is told of, before it is known what became of its record. One whose record is
 * lost leaves as 503 `outcome-unknown`.   AGTP-IDENTIFIERS "Attribution-Record"
 */
import type { Ledger } from "../state/records/ledger.ts";
import { RecordDraft } from "../state/records/record.ts";
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
  const settled = (): void => {
    // Most often each leaves as it is.
    leave(responses.some(isLost) ? responses.map(asRecorded) : responses);
  };
  ledger.whenSettled(settled, responses);
}

/** One answer, of whose record it is known what became. */
interface Recorded {
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

/**
 * The response as it may leave: itself, or 503 `outcome-unknown` in the place of one whose record is lost.
 * The call may have been carried out, so it is neither acknowledged nor denied.
 */
export function asRecorded(response: Response): Response {
  return isLost(response) ? withoutRecord(response) : response;
}

function isLost({ lateFields }: Response): boolean {
  return lateFields !== undefined && !lateFields.isKnown;
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
