/**
 * Bounds how often a principal has a tool called: a bucket of tokens for each pair, which fills
 * again with time. It is the server's, through every run and every reload.   OpenWOP RFC 0064
 */
import { LRUCache } from "lru-cache";

/** The limit in force; `perMinute` 0: none. */
export interface ToolRate {
  readonly perMinute: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

const REMEMBERED_PAIRS = 50_000;
const MINUTE_MS = 60_000;

export class ToolRates {
  readonly #now: () => number;
  readonly #buckets = new LRUCache<string, Bucket>({ max: REMEMBERED_PAIRS });

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Takes a token, or answers in how many milliseconds there is one again. */
  take(principal: string, toolName: string, { perMinute }: ToolRate): number | undefined {
    if (perMinute === 0) return undefined;
    const key = JSON.stringify([principal, toolName]);
    const now = this.#now();
    const { tokens, at } = this.#buckets.get(key) ?? { tokens: perMinute, at: now };
    const left = Math.min(perMinute, tokens + (Math.max(0, now - at) * perMinute) / MINUTE_MS);
    const isOne = left >= 1;
    this.#buckets.set(key, { tokens: isOne ? left - 1 : left, at: now });
    return isOne ? undefined : Math.max(1, Math.ceil(((1 - left) * MINUTE_MS) / perMinute));
  }
}
