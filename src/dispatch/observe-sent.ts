/**
 * Tells of replies as they were sent: one whose record turns out not to be known leaves as 503
 * `outcome-unknown`, and is logged and counted as that.
 */
import type { LateReplies, Settled } from "../state/records/ledger.ts";
import type { Observer } from "./observer.ts";
import { recordOutcomeUnknown } from "./refusals/refusal.ts";
import { replyToRefusal } from "./reply.ts";
import { asRecorded } from "./unrecorded.ts";

/** The part of the ledger that says when it is known what became of records. */
export interface Settling {
  settle(done: Settled, of?: LateReplies): void;
}

/** Hears of the end of each request once its record is kept, or is known not to be. */
export function observeSent(observer: Observer, ledger: Settling): Observer {
  return {
    start: (exchange) => observer.start(exchange),
    end: (exchange, response, reply) => {
      const { lateFields } = response;
      if (lateFields?.isKnown !== false) {
        observer.end(exchange, response, reply);
        return;
      }
      ledger.settle(
        () => {
          const sent = asRecorded(response);
          if (sent === response) observer.end(exchange, response, reply);
          else observer.end(exchange, sent, replyToRefusal(recordOutcomeUnknown()));
        },
        { late: [lateFields] },
      );
    },
    // Its line comes behind those of the requests before it.
    wireFault: (fault, response, peer) => {
      ledger.settle(() => observer.wireFault(fault, response, peer));
    },
    fault: (fault) => observer.fault(fault),
    logFor: (exchange) => observer.logFor(exchange),
  };
}
