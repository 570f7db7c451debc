/**
 * Counts each agent's calls within the last minute, in a sliding window, so that no agent gets two
 * allowances at the turn of a minute.   AGTP-API §10.1.5
 */
import { recentlyUsed } from "../../base/recently-used.ts";
import { type MinuteRates, minuteAccount, type TellTaking } from "./minute-rates.ts";

const WINDOW_MS = 60_000;
const REMEMBERED_AGENTS = 10_000;
/** The maximum number of other processes' turns that are counted for an account. */
const MOST = 10_000;

/** A rate window's name and clock. */
interface RateWindowOptions {
  /** Unique among the server's rates. */
  readonly name: string;
  readonly rates: MinuteRates;
  now?(): number;
}

export class RateWindow {
  readonly #name: string;
  readonly #now: () => number;
  readonly #tell: TellTaking;
  /** The times of an account's turns within the window. */
  readonly #times = recentlyUsed<number[]>(REMEMBERED_AGENTS);

  constructor({ name, rates, now = () => performance.now() }: RateWindowOptions) {
    this.#name = name;
    this.#now = now;
    this.#tell = rates.join(this);
  }

  /** Takes a turn of an agent, or returns the seconds until the next one. */
  take(agentId: string, perMinute: number): number | undefined {
    const account = minuteAccount(this.#name, agentId);
    const now = this.#now();
    const times = this.#timesOf(account, now);
    if (times.length >= perMinute) {
      // The time of the turn that must leave the window first.
      const due = times[times.length - Math.max(1, perMinute)] ?? now;
      return Math.max(1, Math.ceil((due + WINDOW_MS - now) / 1000));
    }
    times.push(now);
    this.#times.set(account, times);
    this.#tell({ account, count: 1 });
    return undefined;
  }

  /** Counts turns that another process granted. */
  add(account: string, count: number): void {
    const now = this.#now();
    const times = this.#timesOf(account, now);
    const more = Math.min(count, MOST - times.length);
    for (let turn = 0; turn < more; turn += 1) times.push(now);
    this.#times.set(account, times);
  }

  #timesOf(account: string, now: number): number[] {
    return (this.#times.get(account) ?? []).filter((at) => now - at < WINDOW_MS);
  }
}
