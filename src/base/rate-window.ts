/**
 * Counts what happened within the last minute, for each agent: a sliding window, so that
 * nobody gets two allowances at the turn of a minute.   AGTP-API §10.1.5
 */
import { LRUCache } from "lru-cache";

const WINDOW_MS = 60_000;
const REMEMBERED_AGENTS = 10_000;

export class RateWindow {
  readonly #now: () => number;
  /** When each agent's last evaluations were; never more than its limit. */
  readonly #times = new LRUCache<string, number[]>({ max: REMEMBERED_AGENTS });

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Takes one of an agent's turns, or answers in how many seconds there is one again. */
  take(agentId: string, perMinute: number): number | undefined {
    const now = this.#now();
    const times = (this.#times.get(agentId) ?? []).filter((at) => now - at < WINDOW_MS);
    if (times.length >= perMinute) {
      this.#times.set(agentId, times);
      const oldest = times[0] ?? now;
      return Math.max(1, Math.ceil((oldest + WINDOW_MS - now) / 1000));
    }
    times.push(now);
    this.#times.set(agentId, times);
    return undefined;
  }
}
