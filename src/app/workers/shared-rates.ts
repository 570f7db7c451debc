/**
 * The rates of a daemon with workers: each reports what its payers take to the others within
 * moments, so that a payer has one account across all connections.   `[limits] requests_per_second`,
 * AGTP-API §10.1.5
 */
import type { Link } from "../../base/link.ts";
import type { MinuteRates, MinuteTaking } from "../../dispatch/rates/minute-rates.ts";
import type { Rates, Taking } from "../../dispatch/rates/rates.ts";

const TELL_AFTER_MS = 20;

interface Accounts {
  readonly rates: Rates;
  readonly minuteRates: MinuteRates;
}

/** The takings that a worker reports to the others. */
export interface Takings {
  readonly taken: readonly Taking[];
  readonly byMinute: readonly MinuteTaking[];
}

/** The number of payers whose takings wait for a process that does not read; further ones are dropped. */
const MAX_UNTOLD = 10_000;
const LOOK_AGAIN_MS = 200;

/** The takings that another process was not told yet, summed up per payer. */
export class UntoldTakings {
  readonly #link: Link;
  readonly #afterMs: number;
  #taken = new Map<string, Taking>();
  #byMinute = new Map<string, MinuteTaking>();
  #isTimed = false;

  /**
   * Sends them `afterMs` after the first, those of one turn together; later while the other process
   * does not read.
   */
  constructor(link: Link, afterMs: number) {
    this.#link = link;
    this.#afterMs = afterMs;
  }

  take(scope: Taking["scope"], payer: string, amount: number): void {
    const key = `${scope} ${payer}`;
    const before = this.#taken.get(key);
    if (before === undefined && this.#taken.size >= MAX_UNTOLD) return;
    this.#taken.set(key, { scope, payer, amount: (before?.amount ?? 0) + amount });
    this.#tellAfter(this.#afterMs);
  }

  takeByMinute({ account, count }: MinuteTaking): void {
    const before = this.#byMinute.get(account);
    if (before === undefined && this.#byMinute.size >= MAX_UNTOLD) return;
    this.#byMinute.set(account, { account, count: (before?.count ?? 0) + count });
    this.#tellAfter(this.#afterMs);
  }

  /** Adds takings that a third process reported. */
  pass({ taken, byMinute }: Takings): void {
    for (const { scope, payer, amount } of taken) this.take(scope, payer, amount);
    for (const taking of byMinute) this.takeByMinute(taking);
  }

  #tellAfter(ms: number): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    setTimeout(() => this.#tell(), ms).unref();
  }

  #tell(): void {
    this.#isTimed = false;
    if (this.#link.isBehind) {
      this.#tellAfter(LOOK_AGAIN_MS);
      return;
    }
    const taken = [...this.#taken.values()];
    const byMinute = [...this.#byMinute.values()];
    this.#link.tell("rates", { taken, byMinute } satisfies Takings);
    this.#taken = new Map();
    this.#byMinute = new Map();
  }
}

/** Keeps a worker's accounts in step with those of the others. */
export function shareRates(link: Link, { rates, minuteRates }: Accounts): void {
  const untold = new UntoldTakings(link, TELL_AFTER_MS);
  rates.share({
    // Each account counts the whole daemon.
    partOf: () => 1,
    took: (scope, payer, amount) => untold.take(scope, payer, amount),
  });
  minuteRates.share((taking) => untold.takeByMinute(taking));
  link.serve({
    rates: (told: Takings) => {
      const now = performance.now();
      for (const taking of told.taken) rates.add(taking, now);
      for (const taking of told.byMinute) minuteRates.add(taking);
    },
  });
}
