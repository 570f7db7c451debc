/**
 * No answer is sent or observed before the fate of its record is known. One whose record is lost is
 * sent as 503 `outcome-unknown`.   AGTP-IDENTIFIERS "Attribution-Record"
 */
import type { Ledger } from "../state/records/ledger.ts";
import { RecordDraft } from "../state/records/record.ts";
import { fieldLines, type Response } from "../wire/message.ts";
import type { Observer } from "./observer.ts";
import { refusalText } from "./refusals/refusal.ts";
import { recordOutcomeUnknown } from "./refusals/store-refusals.ts";
import { AGTP_JSON, replyToRefusal } from "./reply.ts";

/** The part of the ledger that reports when records are settled. */
export type Recording = Pick<Ledger, "whenSettled">;

/** Calls back once the records of these responses are settled, with the responses to send. */
export function onceRecorded(
  ledger: Recording,
  responses: readonly Response[],
  leave: (leaving: readonly Response[]) => void,
): void {
  const settled = (): void => {
    // In most cases every response is sent unchanged.
    leave(responses.some(isLost) ? responses.map(asRecorded) : responses);
  };
  ledger.whenSettled(settled, responses);
}

/** An answer whose record is settled. */
interface Recorded {
  /** The response to send. */
  readonly response: Response;
  /** False if the record is not known to be kept. */
  readonly isKept: boolean;
  /** The failure that the ledger met meanwhile. */
  readonly failure: Error | undefined;
}

/** Resolves once the record of one answer is settled. */
export function recorded(ledger: Recording, response: Response): Promise<Recorded> {
  return new Promise((resolve) => {
    const responses = [response];
    ledger.whenSettled((failure) => {
      const leaving = asRecorded(response);
      resolve({ response: leaving, isKept: leaving === response, failure });
    }, responses);
  });
}

/** Returns the record of an answer; undefined if none is kept. */
export function recordOf({ lateFields }: Response): RecordDraft | undefined {
  return lateFields instanceof RecordDraft && lateFields.isKnown ? lateFields : undefined;
}

const { status: LOST_STATUS } = recordOutcomeUnknown();

/** Wraps an observer so that it is told of requests once their records are settled, with the sent answer. */
export function observeRecorded(observer: Observer, ledger: Recording): Observer {
  return {
    ...observer,
    end: (exchange, response, reply) => {
      if (response.lateFields?.isKnown !== false) {
        observer.end(exchange, response, reply);
        return;
      }
      // A pending request outlives its turn, which costs the garbage collector as much as its
      // record does.
      if (!observer.hears(response.status) && !observer.hears(LOST_STATUS)) return;
      ledger.whenSettled(() => {
        const sent = asRecorded(response);
        const isLost = sent !== response;
        observer.end(exchange, sent, isLost ? replyToRefusal(recordOutcomeUnknown()) : reply);
      }, [response]);
    },
    // Deferred, so that its log line follows those of earlier requests.
    wireFault: (fault, response, peer) => {
      ledger.whenSettled(() => observer.wireFault(fault, response, peer));
    },
  };
}

/** The fields that identify the answer; all others belong to the lost reply. */
const CARRIED: ReadonlySet<string> = new Set([
  ...["Server-ID", "AGTP-API-Version", "Response-ID", "Supported-Methods"],
  ...["Agent-ID", "Request-ID", "Task-ID"],
]);

/**
 * Returns the response to send: itself, or 503 `outcome-unknown` if its record is lost. The call
 * may have been executed, so it is neither confirmed nor denied.
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
