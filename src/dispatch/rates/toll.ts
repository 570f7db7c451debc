/**
 * Rates for what is asked beside the pipeline: the APIs of the HTTP listener know their callers
 * themselves. The accounts are those of the pipeline.
 * `[limits] work_ms_per_second`, `requests_per_second`
 */
import { channel } from "node:diagnostics_channel";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { LoopTime } from "./loop-time.ts";
import type { RateExcess, Rates } from "./rates.ts";

/** The channel that tells that somebody was refused: a `RateExcess`. */
export const EXCESS_CHANNEL = "agtpd:rate:excess";

/** Admits requests, and has them paid for. */
export interface Toll {
  /** Takes one request in, or says what there is too much of. */
  admit(payer: TaskOwner): RateExcess | undefined;
  /** Does something at once, on somebody's account. */
  measure<T>(payer: TaskOwner, work: () => T): T;
}

/** The toll over the accounts of all payers. */
export function createToll(rates: Rates, time: LoopTime): Toll {
  const refused = channel(EXCESS_CHANNEL);
  return {
    admit: ({ key }) => {
      const excess = rates.admit(() => key, performance.now());
      if (excess !== undefined) refused.publish(excess);
      return excess;
    },
    measure: (payer, work) => time.slice(() => payer, work),
  };
}
