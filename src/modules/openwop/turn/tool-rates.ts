/**
 * Bounds how often a principal has a tool called: a bucket of tokens for each pair, which fills
 * again with time. It is the server's, through every run and every reload.   OpenWOP RFC 0064
 */
import { recentlyUsed } from "../../../base/recently-used.ts";
import {
  type MinuteRates,
  minuteAccount,
  type TellTaking,
} from "../../../dispatch/rates/minute-rates.ts";

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

const REMEMBERED_PAIRS = 50_000;
const MINUTE_MS = 60_000;

export class ToolRates {
  readonly #now: () => number;
  readonly #tell: TellTaking;
  readonly #buckets = recentlyUsed<Bucket>(REMEMBERED_PAIRS);
  /** 0: none. */
  #perMinute = 0;

  constructor(rates: MinuteRates, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#tell = rates.join(this);
  }

  /** Holds everybody to so many calls a minute from now on; 0: to none. What was taken stays taken. */
  limit(perMinute: number): void {
    this.#perMinute = perMinute;
  }

  /** Takes a token, or answers in how many milliseconds there is one again. */
  take(principal: string, toolName: string): number | undefined {
    const perMinute = this.#perMinute;
    if (perMinute === 0) return undefined;
    const account = minuteAccount("openwop-tools", principal, toolName);
    const now = this.#now();
    const left = this.#leftOf(account, now);
    if (left < 1) return Math.max(1, Math.ceil(((1 - left) * MINUTE_MS) / perMinute));
    this.#buckets.set(account, { tokens: left - 1, at: now });
    this.#tell({ account, count: 1 });
    return undefined;
  }

  /** Counts tokens that another process has given. */
  add(account: string, count: number): void {
    if (this.#perMinute === 0) return;
    const now = this.#now();
    this.#buckets.set(account, { tokens: this.#leftOf(account, now) - count, at: now });
  }

  #leftOf(account: string, now: number): number {
    const bucket = this.#buckets.get(account);
    if (bucket === undefined) return this.#perMinute;
    const filled = (Math.max(0, now - bucket.at) * this.#perMinute) / MINUTE_MS;
    // Nobody waits longer than a bucket takes to fill.
    const tokens = Math.max(1 - this.#perMinute, bucket.tokens);
    return Math.min(this.#perMinute, tokens + filled);
  }
}
