/**
 * Rates for requests outside the pipeline: the APIs of the HTTP listener, which authenticate their
 * callers themselves. The accounts are shared with the pipeline.   `[limits] work_ms_per_second`,
 * `requests_per_second`
 */
import { channel } from "node:diagnostics_channel";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { LoopTime } from "./loop-time.ts";
import type { RateExcess, Rates } from "./rates.ts";

/** The channel of rate-limited requests; its messages are `RateExcess`. */
export const EXCESS_CHANNEL = "agtpd:rate:excess";

/** Admits requests and charges for their work. */
export interface Toll {
  /** Admits one request, or returns the excess. */
  admit(payer: TaskOwner): RateExcess | undefined;
  /** Runs synchronous work, charged to a payer. */
  measure<T>(payer: TaskOwner, work: () => T): T;
}

/** Creates the toll over the accounts of all payers. */
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
