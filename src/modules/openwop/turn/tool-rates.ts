/**
 * Bounds how often a principal has a tool called: a bucket of tokens for each pair, which fills
 * again with time. It is the server's, through every run and every reload.   OpenWOP RFC 0064
 */
import { recentlyUsed } from "../../../base/recently-used.ts";
import {
  MinuteRates,
  minuteAccount,
  type TellTaking,
} from "../../../dispatch/rates/minute-rates.ts";

/** The limit in force; `perMinute` 0: none. */
interface ToolRate {
  readonly perMinute: number;
}

interface Bucket {
  /** Undefined: it is full but for what is owed. */
  readonly tokens: number | undefined;
  readonly at: number;
  /** Tokens that another process has given. */
  readonly owed: number;
}

const REMEMBERED_PAIRS = 50_000;
const MINUTE_MS = 60_000;

export class ToolRates {
  readonly #now: () => number;
  readonly #tell: TellTaking;
  readonly #buckets = recentlyUsed<Bucket>(REMEMBERED_PAIRS);

  constructor(now: () => number = () => performance.now(), rates: MinuteRates = new MinuteRates()) {
    this.#now = now;
    this.#tell = rates.join(this);
  }

  /** Takes a token, or answers in how many milliseconds there is one again. */
  take(principal: string, toolName: string, { perMinute }: ToolRate): number | undefined {
    if (perMinute === 0) return undefined;
    const account = minuteAccount("openwop-tools", principal, toolName);
    const now = this.#now();
    const { tokens = perMinute, at, owed } = this.#bucketOf(account, now);
    const filled = tokens + (Math.max(0, now - at) * perMinute) / MINUTE_MS;
    // Nobody waits longer than a bucket takes to fill.
    const left = Math.max(1 - perMinute, Math.min(perMinute, filled) - owed);
    const isOne = left >= 1;
    this.#buckets.set(account, { tokens: isOne ? left - 1 : left, at: now, owed: 0 });
    if (isOne) this.#tell({ account, count: 1 });
    return isOne ? undefined : Math.max(1, Math.ceil(((1 - left) * MINUTE_MS) / perMinute));
  }

  /** Counts tokens that another process has given. */
  add(account: string, count: number): void {
    const bucket = this.#bucketOf(account, this.#now());
    this.#buckets.set(account, { ...bucket, owed: bucket.owed + count });
  }

  #bucketOf(account: string, now: number): Bucket {
    return this.#buckets.get(account) ?? { tokens: undefined, at: now, owed: 0 };
  }
}
