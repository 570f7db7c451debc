/**
 * The rates of a daemon with workers: each tells the others what its payers have taken, a moment
 * later, so that a payer has one account wherever its connections are.   `[limits] requests_per_second`
 */
import type { Link } from "../../base/link.ts";
import type { Rates, Taking } from "../../dispatch/rates/rates.ts";

const TELL_AFTER_MS = 20;

/** Keeps a worker's accounts like those of the others from now on. */
export function shareRates(link: Link, rates: Rates): void {
  let taken = new Map<string, Taking>();
  const tell = (): void => {
    link.tell("rates", [...taken.values()]);
    taken = new Map();
  };
  rates.share({
    // Each account counts the whole.
    partOf: () => 1,
    took: (scope, payer, amount) => {
      if (taken.size === 0) setTimeout(tell, TELL_AFTER_MS).unref();
      const key = `${scope} ${payer}`;
      const before = taken.get(key)?.amount ?? 0;
      taken.set(key, { scope, payer, amount: before + amount });
    },
  });
  link.serve({
    rates: (takings: readonly Taking[]) => {
      const now = performance.now();
      for (const taking of takings) rates.add(taking, now);
    },
  });
}
