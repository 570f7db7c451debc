/**
 * Which keys are known, in memory: how old each is, how much each agent has, and which of them has
 * to go when there are too many. Neither running executions nor another agent's keys make room for
 * an agent's own: over its bound it loses its oldest, and over the bound of all whoever has most.
 */
import type { KnownKey } from "./idempotency-entry.ts";

/** How much is remembered. */
export interface IdempotencyLimits {
  readonly ttlMs: number;
  readonly keysPerAgent: number;
  readonly keys: number;
  readonly bytesPerAgent: number;
  readonly bytes: number;
}

/** A day, and what a server of some thousand agents can hold. */
export const DEFAULT_LIMITS: IdempotencyLimits = {
  ttlMs: 24 * 3_600_000,
  keysPerAgent: 10_000,
  keys: 100_000,
  bytesPerAgent: 32 * 1024 * 1024,
  bytes: 256 * 1024 * 1024,
};

/** The keys of one agent; both sets have the oldest first. */
interface Share {
  readonly keys: Set<KnownKey>;
  readonly responses: Set<KnownKey>;
  bytes: number;
}

export class IdempotencyIndex {
  readonly #limits: IdempotencyLimits;
  /** By id, the oldest first. */
  readonly #keys = new Map<string, KnownKey>();
  readonly #shares = new Map<string, Share>();
  #bytes = 0;

  constructor(limits: IdempotencyLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#keys.size;
  }

  get(id: string): KnownKey | undefined {
    return this.#keys.get(id);
  }

  /** Takes in a key that is younger than all others. */
  add(key: KnownKey): void {
    this.#keys.set(key.id, key);
    const share = this.#shares.get(key.agentId) ?? newShare();
    this.#shares.set(key.agentId, share);
    share.keys.add(key);
    if (key.bytes > 0) this.keepResponse(key, key.bytes);
  }

  delete(key: KnownKey): void {
    this.dropResponse(key);
    this.#keys.delete(key.id);
    const share = this.#shares.get(key.agentId);
    share?.keys.delete(key);
    if (share?.keys.size === 0) this.#shares.delete(key.agentId);
  }

  keepResponse(key: KnownKey, bytes: number): void {
    const share = this.#shares.get(key.agentId);
    if (share === undefined) return;
    key.bytes = bytes;
    share.responses.add(key);
    share.bytes += bytes;
    this.#bytes += bytes;
  }

  dropResponse(key: KnownKey): void {
    const share = this.#shares.get(key.agentId);
    if (share?.responses.delete(key) !== true) return;
    share.bytes -= key.bytes;
    this.#bytes -= key.bytes;
    key.bytes = 0;
  }

  isExpired({ state, at }: KnownKey, now: number): boolean {
    return state !== "running" && now - at >= this.#limits.ttlMs;
  }

  /** Keys whose time is over, among the `count` oldest. */
  expired(now: number, count: number): readonly KnownKey[] {
    const found: KnownKey[] = [];
    let seen = 0;
    for (const key of this.#keys.values()) {
      seen += 1;
      if (seen > count || now - key.at < this.#limits.ttlMs) break;
      if (this.isExpired(key, now)) found.push(key);
    }
    return found;
  }

  /** A key that has to go, after this agent got one more. */
  surplusKey(agentId: string): KnownKey | undefined {
    const { keysPerAgent, keys } = this.#limits;
    const own = this.#shares.get(agentId);
    if (own !== undefined && own.keys.size > keysPerAgent) return oldestSettled(own.keys);
    if (this.#keys.size <= keys) return undefined;
    const largest = this.#largest((share) => share.keys.size);
    return largest && oldestSettled(largest.keys);
  }

  /** A key whose response has to go, after this agent got one more. */
  surplusResponse(agentId: string): KnownKey | undefined {
    const { bytesPerAgent, bytes } = this.#limits;
    const own = this.#shares.get(agentId);
    if (own !== undefined && own.bytes > bytesPerAgent) return first(own.responses);
    if (this.#bytes <= bytes) return undefined;
    const largest = this.#largest((share) => share.bytes);
    return largest && first(largest.responses);
  }

  #largest(measure: (share: Share) => number): Share | undefined {
    let largest: Share | undefined;
    for (const share of this.#shares.values()) {
      if (largest === undefined || measure(share) > measure(largest)) largest = share;
    }
    return largest;
  }
}

function newShare(): Share {
  return { keys: new Set(), responses: new Set(), bytes: 0 };
}

function first(keys: Iterable<KnownKey>): KnownKey | undefined {
  const [key] = keys;
  return key;
}

function oldestSettled(keys: Iterable<KnownKey>): KnownKey | undefined {
  for (const key of keys) if (key.state !== "running") return key;
  return undefined;
}
