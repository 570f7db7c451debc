/**
 * Limits what each payer takes from the server, with leaky buckets: requests, and event loop time
 * in slices long enough to delay others. Buckets survive a reload of the limits, and the oldest are
 * dropped before a million addresses fill the memory.   `[limits] work_ms_per_second`,
 * `requests_per_second`
 */

import { networkOf } from "../../base/addresses.ts";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { Caller } from "../caller/caller.ts";
import type { Peer } from "../caller/peer.ts";
import type { RateScope, RateShares } from "./rate-shares.ts";

/** The limits in force; 0 is unlimited. */
type RateLimits = Pick<LimitsConfig, "requestsPerSecond" | "workMsPerSecond">;

/** An exceeded rate, and the wait until it permits more. */
export interface RateExcess {
  readonly scope: RateScope;
  /** The wait in whole seconds, at least 1. */
  readonly retryAfterSeconds: number;
}

/** An amount that a payer has taken. */
export interface Taking {
  readonly scope: RateScope;
  readonly payer: string;
  /** The number of requests, or milliseconds of work. */
  readonly amount: number;
}

/** The bursts that a payer may save up: one second for requests, two for work, which is uneven. */
const REQUESTS_SAVED_SECONDS = 1;
const WORK_SAVED_SECONDS = 2;
/** The longest wait that a single slice can cause, however long it was. */
const MAX_DEBT_SECONDS = 60;

export class Rates {
  readonly #requests = new Buckets();
  readonly #work = new Buckets();
  #limits: RateLimits;
  /** Undefined for a single process. */
  #shares: RateShares | undefined;

  constructor(limits: RateLimits = { requestsPerSecond: 0, workMsPerSecond: 0 }) {
    this.#limits = limits;
  }

  /** Changes the limits; the buckets keep their levels. */
  limit({ requestsPerSecond, workMsPerSecond }: RateLimits): void {
    this.#limits = { requestsPerSecond, workMsPerSecond };
  }

  /** Sets the shares that other nodes leave to this one. */
  share(shares: RateShares): void {
    this.#shares = shares;
  }

  /** Returns the rate per second that all nodes together grant a payer; 0 is unlimited. */
  limitOf(scope: RateScope): number {
    return scope === "work" ? this.#limits.workMsPerSecond : this.#limits.requestsPerSecond;
  }

  /** Admits one request, or returns the excess; `now` is of `performance.now()`. */
  admit(payer: () => string, now: number): RateExcess | undefined {
    const { requestsPerSecond, workMsPerSecond } = this.#limits;
    const isCounted = requestsPerSecond > 0;
    // In most cases no payer has taken anything, so the payer is not resolved.
    if (!isCounted && (workMsPerSecond === 0 || this.#work.isEmpty(now))) return undefined;
    const key = payer();
    if (workMsPerSecond > 0) {
      const excess =
        this.#work.level(key, now, workMsPerSecond) - WORK_SAVED_SECONDS * workMsPerSecond;
      if (excess >= 0) return { scope: "work", retryAfterSeconds: wait(excess, workMsPerSecond) };
    }
    if (!isCounted) return undefined;
    const most = REQUESTS_SAVED_SECONDS * requestsPerSecond;
    const cost = this.#costOf("requests", key);
    // A request that costs more than the burst is admitted to an empty bucket, and paid off
    // afterwards.
    const excess = this.#requests.level(key, now, requestsPerSecond) + Math.min(cost, most) - most;
    if (excess > 0)
      return { scope: "requests", retryAfterSeconds: wait(excess, requestsPerSecond) };
    this.#requests.add(key, cost, now, requestsPerSecond);
    this.#shares?.took("requests", key, 1);
    return undefined;
  }

  /** Counts an amount that a payer took from another process of this daemon. */
  add({ scope, payer, amount }: Taking, now: number): void {
    const perSecond = this.limitOf(scope);
    const buckets = scope === "work" ? this.#work : this.#requests;
    if (perSecond > 0) buckets.add(payer, amount, now, perSecond);
  }

  /** Returns the cost of one unit: the inverse of this node's part of the rate. */
  #costOf(scope: RateScope, payer: string): number {
    return 1 / (this.#shares?.partOf(scope, payer) ?? 1);
  }

  /** The number of buckets. */
  get size(): number {
    return this.#requests.size + this.#work.size;
  }

  /** Charges a payer for a slice of the loop. */
  charge(payer: string, ms: number, now: number): void {
    const { workMsPerSecond } = this.#limits;
    if (workMsPerSecond === 0) return;
    this.#work.add(payer, ms * this.#costOf("work", payer), now, workMsPerSecond);
    this.#shares?.took("work", payer, ms);
  }
}

function wait(excess: number, perSecond: number): number {
  return Math.max(1, Math.ceil(excess / perSecond));
}

interface Bucket {
  level: number;
  at: number;
}

/** The maximum number of buckets in a generation; there are two. */
const MAX_BUCKETS = 50_000;
/** The time after which an unused bucket is as good as empty. */
const GENERATION_MS = MAX_DEBT_SECONDS * 1000;

/** Buckets by payer, in two generations. A bucket in use moves to the young one, and the old one is dropped. */
class Buckets {
  #young = new Map<string, Bucket>();
  #old = new Map<string, Bucket>();
  #since = 0;

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  isEmpty(now: number): boolean {
    this.#age(now);
    return this.size === 0;
  }

  level(key: string, now: number, perSecond: number): number {
    const bucket = this.#find(key);
    return bucket === undefined ? 0 : drained(bucket, now, perSecond);
  }

  add(key: string, amount: number, now: number, perSecond: number): void {
    this.#age(now);
    const bucket = this.#find(key) ?? { level: 0, at: now };
    bucket.level = Math.min(drained(bucket, now, perSecond) + amount, MAX_DEBT_SECONDS * perSecond);
    // A request that waited before its gate may be older than the last one.
    bucket.at = Math.max(bucket.at, now);
    this.#young.set(key, bucket);
  }

  #find(key: string): Bucket | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.#young.set(key, old);
    return old;
  }

  #age(now: number): void {
    if (this.#young.size < MAX_BUCKETS && now - this.#since < GENERATION_MS) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#since = now;
  }
}

function drained({ level, at }: Bucket, now: number, perSecond: number): number {
  return Math.max(0, level - (Math.max(0, now - at) * perSecond) / 1000);
}

/** The account that all unvouched callers share for questions that wait for operators. */
export const STRANGERS = "strangers";

/**
 * Returns the account that pays for a request. A certified agent pays for itself, wherever it is. A
 * merely claimed one pays together with its network, so that nobody elsewhere can use up another
 * agent's account. All others pay by address, IPv6 by its /64.
 */
export function payerOf(request: {
  readonly caller: Caller;
  readonly peer: Pick<Peer, "address" | "speaksAs" | "paid">;
}): TaskOwner {
  const { caller, peer } = request;
  // A connection's caller mostly stays the same, so its key is built and hashed once (-5 %).
  if (peer.paid?.caller === caller) return peer.paid.owner;
  const key = accountOf(request);
  const owner = key === undefined ? networkOwner(peer.address) : { key, isKnown: true };
  peer.paid = { caller, owner };
  return owner;
}

/** Returns the account of callers who are known only by their address. */
export function networkOwner(address: string): TaskOwner {
  return { key: networkOf(address), isKnown: false };
}

/** Returns the account of an API's client: the principal of its token, or else its address. */
export function spokenFor(principalId: string | undefined, address: string): TaskOwner {
  const key = accountOfPrincipal(principalId);
  return key === undefined ? networkOwner(address) : { key, isKnown: true };
}

function accountOfPrincipal(principalId: string | undefined): string | undefined {
  return principalId === undefined ? undefined : `for ${principalId}`;
}

/** Returns an agent's account; undefined for an unknown agent, which could change its Agent-ID each time. */
function accountOf({ caller, peer }: Parameters<typeof payerOf>[0]): string | undefined {
  const { agentId = "", principalId, delegation } = caller;
  // The HTTP sidecar's agent is shared by everybody who reaches the port.
  if (peer.speaksAs !== undefined) return accountOfPrincipal(principalId);
  if (principalId !== undefined) return `${agentId} for ${principalId}`;
  // A peer pays for its agents, since it can vouch for any number of them.
  const voucher = delegation?.isArriving === true ? delegation.links.at(-1) : undefined;
  if (voucher !== undefined) return `of ${voucher.serverId}`;
  // The server's own requests have no address.
  if (caller.isCertified || (agentId !== "" && peer.address === "")) return agentId;
  return caller.document === undefined ? undefined : `${agentId} at ${networkOf(peer.address)}`;
}
