/**
 * The rates of a daemon with workers: each tells the others what its payers have taken, a moment
 * later, so that a payer has one account wherever its connections are.
 * `[limits] requests_per_second`, AGTP-API §10.1.5
 */
import type { Link } from "../../base/link.ts";
import type { MinuteRates, MinuteTaking } from "../../dispatch/rates/minute-rates.ts";
import type { Rates, Taking } from "../../dispatch/rates/rates.ts";

const TELL_AFTER_MS = 20;

/** The accounts of a process. */
interface Accounts {
  readonly rates: Rates;
  readonly minuteRates: MinuteRates;
}

/** The takings that one worker tells the others of. */
interface Takings {
  readonly taken: readonly Taking[];
  readonly byMinute: readonly MinuteTaking[];
}

/** Keeps a worker's accounts like those of the others from now on. */
export function shareRates(link: Link, { rates, minuteRates }: Accounts): void {
  let taken = new Map<string, Taking>();
  let byMinute = new Map<string, number>();
  const tell = (): void => {
    const minutes = [...byMinute].map(([account, count]) => ({ account, count }));
    link.tell("rates", { taken: [...taken.values()], byMinute: minutes } satisfies Takings);
    taken = new Map();
    byMinute = new Map();
  };
  const tellSoon = (): void => {
    if (taken.size === 0 && byMinute.size === 0) setTimeout(tell, TELL_AFTER_MS).unref();
  };
  rates.share({
    // Each account counts the whole.
    partOf: () => 1,
    took: (scope, payer, amount) => {
      tellSoon();
      const key = `${scope} ${payer}`;
      const before = taken.get(key)?.amount ?? 0;
      taken.set(key, { scope, payer, amount: before + amount });
    },
  });
  minuteRates.share(({ account, count }) => {
    tellSoon();
    byMinute.set(account, (byMinute.get(account) ?? 0) + count);
  });
  link.serve({
    rates: (told: Takings) => {
      const now = performance.now();
      for (const taking of told.taken) rates.add(taking, now);
      for (const taking of told.byMinute) minuteRates.add(taking);
    },
  });
}
