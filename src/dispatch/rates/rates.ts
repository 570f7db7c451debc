/**
 * Limits what each payer takes of the server, in buckets that drain with time: requests, and time of
 * the event loop in slices that others notice. Accounts outlive a reload of the limits, and the
 * oldest are forgotten before a million addresses fill the memory.
 * `[limits] work_ms_per_second`, `requests_per_second`
 */

import { networkOf } from "../../base/addresses.ts";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { Caller } from "../caller/caller.ts";
import type { Peer } from "../caller/peer.ts";
import type { RateScope, RateShares } from "./rate-shares.ts";

/** The limits in force; 0 is none. */
type RateLimits = Pick<LimitsConfig, "requestsPerSecond" | "workMsPerSecond">;

/** A payer that has to wait. */
export interface RateExcess {
  readonly scope: RateScope;
  /** At least 1. */
  readonly retryAfterSeconds: number;
}

/** A part of the server that a payer has taken. */
export interface Taking {
  readonly scope: RateScope;
  readonly payer: string;
  /** Requests, or milliseconds of work. */
  readonly amount: number;
}

/** Unused rate that is saved up: a second for requests, two for work, which comes in lumps. */
const REQUESTS_SAVED_SECONDS = 1;
const WORK_SAVED_SECONDS = 2;
/** Nobody is kept waiting longer for one slice, however long that was. */
const MAX_DEBT_SECONDS = 60;

export class Rates {
  readonly #requests = new Buckets();
  readonly #work = new Buckets();
  #limits: RateLimits;
  /** Undefined: nobody else gives anything. */
  #shares: RateShares | undefined;

  constructor(limits: RateLimits = { requestsPerSecond: 0, workMsPerSecond: 0 }) {
    this.#limits = limits;
  }

  /** Holds everybody to these from now on; what was taken stays taken. */
  limit({ requestsPerSecond, workMsPerSecond }: RateLimits): void {
    this.#limits = { requestsPerSecond, workMsPerSecond };
  }

  /** Listens to what other nodes give. */
  share(shares: RateShares): void {
    this.#shares = shares;
  }

  /** The rate that all nodes together give a payer, per second; 0 is as much as it asks for. */
  limitOf(scope: RateScope): number {
    return scope === "work" ? this.#limits.workMsPerSecond : this.#limits.requestsPerSecond;
  }

  /** Takes one request in, or says what there is too much of; `now` as of `performance.now()`. */
  admit(payer: () => string, now: number): RateExcess | undefined {
    const { requestsPerSecond, workMsPerSecond } = this.#limits;
    const isCounted = requestsPerSecond > 0;
    // Most of the time nobody has taken anything.
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
    // One that costs more than can be saved up is let in once all is, and paid off afterwards.
    const excess = this.#requests.level(key, now, requestsPerSecond) + Math.min(cost, most) - most;
    if (excess > 0)
      return { scope: "requests", retryAfterSeconds: wait(excess, requestsPerSecond) };
    this.#requests.add(key, cost, now, requestsPerSecond);
    this.#shares?.took("requests", key, 1);
    return undefined;
  }

  /** Counts the taking of a payer from another process of this daemon. */
  add({ scope, payer, amount }: Taking, now: number): void {
    const perSecond = this.limitOf(scope);
    const buckets = scope === "work" ? this.#work : this.#requests;
    if (perSecond > 0) buckets.add(payer, amount, now, perSecond);
  }

  /** How much of the whole rate a payer spends with one of its share here. */
  #costOf(scope: RateScope, payer: string): number {
    return 1 / (this.#shares?.partOf(scope, payer) ?? 1);
  }

  /** The number of accounts that are kept. */
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

/** In one generation; there are two. */
const MAX_BUCKETS = 50_000;
/** A bucket that nobody looked at for so long is as good as empty. */
const GENERATION_MS = MAX_DEBT_SECONDS * 1000;

/** Buckets by payer. Those that are looked at move on to the next generation, the rest is dropped. */
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
    // A request that waited before its gate is from before the last one.
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

/** Those whom nobody vouches for have one share together of the questions that wait for operators. */
export const STRANGERS = "strangers";

/**
 * The account that pays for a request. An agent that is proven pays for itself, wherever it is. One
 * that is only claimed pays together with where it is claimed from, so that nobody elsewhere can use
 * up what is another's. All others pay as the address that they come from, IPv6 by its /64.
 */
export function payerOf(request: {
  readonly caller: Caller;
  readonly peer: Pick<Peer, "address" | "speaksAs" | "paid">;
}): TaskOwner {
  const { caller, peer } = request;
  // The caller of a connection is mostly the one before: its key is put together and hashed once (-5 %).
  if (peer.paid?.caller === caller) return peer.paid.owner;
  const key = accountOf(request);
  const owner = key === undefined ? networkOwner(peer.address) : { key, isKnown: true };
  peer.paid = { caller, owner };
  return owner;
}

/** The account of callers from an address who say no more about themselves. */
export function networkOwner(address: string): TaskOwner {
  return { key: networkOf(address), isKnown: false };
}

/** The account of an API's client: the principal that its token names, else its address. */
export function spokenFor(principalId: string | undefined, address: string): TaskOwner {
  const key = accountOfPrincipal(principalId);
  return key === undefined ? networkOwner(address) : { key, isKnown: true };
}

function accountOfPrincipal(principalId: string | undefined): string | undefined {
  return principalId === undefined ? undefined : `for ${principalId}`;
}

/** Undefined for a stranger: an Agent-ID that nobody knows can be another one each time. */
function accountOf({ caller, peer }: Parameters<typeof payerOf>[0]): string | undefined {
  const { agentId = "", principalId, delegation } = caller;
  // The agent of the HTTP sidecar is everybody's who reaches the port.
  if (peer.speaksAs !== undefined) return accountOfPrincipal(principalId);
  if (principalId !== undefined) return `${agentId} for ${principalId}`;
  // A peer vouches for as many agents as it likes.
  const voucher = delegation?.isArriving === true ? delegation.links.at(-1) : undefined;
  if (voucher !== undefined) return `of ${voucher.serverId}`;
  // The server's own requests have no address.
  if (caller.isCertified || (agentId !== "" && peer.address === "")) return agentId;
  return caller.document === undefined ? undefined : `${agentId} at ${networkOf(peer.address)}`;
}
