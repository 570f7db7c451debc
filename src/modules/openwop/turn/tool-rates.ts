/**
 * Limits the rate at which a principal calls a tool: one token bucket per pair, kept across runs and reloads.   OpenWOP
 * RFC 0064
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
  /** Calls per minute; 0 for no limit. */
  #perMinute = 0;

  constructor(rates: MinuteRates, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#tell = rates.join(this);
  }

  /** Changes the limit to `perMinute`, 0 for none; tokens already taken stay taken. */
  limit(perMinute: number): void {
    this.#perMinute = perMinute;
  }

  /** Takes a token, or returns the milliseconds until one is available. */
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

  /** Subtracts tokens that another process gave out. */
  add(account: string, count: number): void {
    if (this.#perMinute === 0) return;
    const now = this.#now();
    this.#buckets.set(account, { tokens: this.#leftOf(account, now) - count, at: now });
  }

  #leftOf(account: string, now: number): number {
    const bucket = this.#buckets.get(account);
    if (bucket === undefined) return this.#perMinute;
    const filled = (Math.max(0, now - bucket.at) * this.#perMinute) / MINUTE_MS;
    // Bounds the debt, so that a wait is never longer than filling the bucket.
    const tokens = Math.max(1 - this.#perMinute, bucket.tokens);
    return Math.min(this.#perMinute, tokens + filled);
  }
}
