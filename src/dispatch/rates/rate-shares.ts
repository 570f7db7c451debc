/**
 * Divides a payer's rate among several nodes. Each second a node publishes a lease of what it
 * granted to the heaviest payers, and the other nodes grant these only a part of the rest, but
 * never less than an equal share, so that a payer is not shut out of a node that it has not used
 * yet. A lease expires. Without word from others, a node grants the whole rate.   `[limits]
 * work_ms_per_second`, `requests_per_second`
 */
import { hash } from "node:crypto";
import { Collection } from "../../state/collection.ts";
import type { Holders } from "../../state/holders.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";

/** The kinds of accounts, each with a rate of its own. */
export type RateScope = "requests" | "work";

/** The part of `Rates` that depends on other nodes. */
export interface RateShares {
  /** Returns the part of the rate that this node may grant a payer, above 0 and at most 1. */
  partOf(scope: RateScope, payer: string): number;
  /** Counts what a payer has taken here. */
  took(scope: RateScope, payer: string, amount: number): void;
}

/** The rate per second that a node has granted, by scope and account. */
interface Lease {
  /** The write time, in milliseconds since the epoch by that node's clock. */
  readonly at: number;
  readonly given: Readonly<Record<string, number>>;
}

/** Publishes what this node grants to the others. */
export interface LeasedShares extends RateShares {
  /** Publishes what was granted since the last call; called once a second. */
  renew(): Promise<void>;
  close(): void;
}

interface SharesOptions {
  readonly holders: Holders;
  /** Returns the rate in force; payers far below it are not published. */
  limitOf(scope: RateScope): number;
  onFault(error: unknown): void;
  /** Returns milliseconds of a monotonic clock. */
  now?(): number;
}

/** The interval between two leases. */
const LEASE_EVERY_MS = 1_000;
/** The time after which a lease expires. */
const LEASE_MS = 3_000;
/** The retention of a node's lease after its last write. */
const KEPT_MS = 600_000;
/** The part of the rate below which a payer is not published. */
const LEAST_PART = 0.1;
/** The maximum number of payers in a lease. */
const MAX_PAYERS = 256;
/** The maximum number of accounts counted within a second. */
const MAX_COUNTED = 50_000;

/** The lease of another node, and the time at which it arrived here. */
interface Heard {
  readonly lease: Lease;
  readonly at: number;
}

/** Opens the shares of a process; undefined for a single process. */
export async function openRateShares(
  store: Store,
  { holders, limitOf, onFault, now = () => performance.now() }: SharesOptions,
): Promise<LeasedShares | undefined> {
  const { self } = holders;
  if (self === undefined) return undefined;
  const heard = new Map<string, Heard>();
  let given = new Map<string, number>();
  let told: ReadonlyMap<string, number> = new Map();
  let since = now();
  const leases = await Collection.open<Lease>(store, {
    name: "rate-leases",
    read: recordReader<Lease>({ at: "number", given: "object" }),
    forgottenAt: ({ at }) => at + KEPT_MS,
    onChange: (_, lease, process) => {
      if (lease === undefined) heard.delete(process);
      else if (process !== self) heard.set(process, { lease, at: now() });
    },
  });
  // Entries that were stored before may be of any age.
  heard.clear();
  const partOf = (account: string): number => {
    const whole = limitOf(scopeOf(account));
    if (heard.size === 0 || whole === 0) return 1;
    const name = nameOf(account);
    const at = now();
    let elsewhere = 0;
    let nodes = 1;
    for (const one of heard.values()) {
      const amount = at - one.at > LEASE_MS ? undefined : one.lease.given[name];
      if (typeof amount !== "number") continue;
      nodes += 1;
      elsewhere += amount;
    }
    const left = 1 - elsewhere / whole;
    const own = (told.get(account) ?? 0) / whole;
    // No node takes the whole rest, since the others see it as well.
    return Math.max(1 / nodes, Math.min(left, own + (left - own) / nodes));
  };
  const renew = async (): Promise<void> => {
    const seconds = Math.max(now() - since, 1) / 1000;
    const counted = given;
    given = new Map();
    since = now();
    for (const [process, one] of heard) if (since - one.at > LEASE_MS) heard.delete(process);
    const before = told;
    const rates = new Map([...counted].map(([account, amount]) => [account, amount / seconds]));
    // A published rate falls by half at most, so that shares do not oscillate.
    for (const [account, rate] of before) {
      rates.set(account, Math.max(rates.get(account) ?? 0, rate / 2));
    }
    // Compared with this node's part, not the whole rate: an unpublished equal share would let
    // every node grant the whole rate.
    const isTold = (account: string, rate: number): boolean =>
      rate >= LEAST_PART * limitOf(scopeOf(account)) * partOf(account);
    const most = [...rates]
      .filter(([account, rate]) => isTold(account, rate))
      .toSorted(([, one], [, other]) => other - one);
    told = new Map(most.slice(0, MAX_PAYERS));
    if (told.size === 0 && before.size === 0) return;
    const names = [...told].map(([account, rate]) => [nameOf(account), Math.ceil(rate)] as const);
    await leases.put(self, { at: Date.now(), given: Object.fromEntries(names) });
  };
  const timer = setInterval(() => renew().catch(onFault), LEASE_EVERY_MS).unref();
  return {
    partOf: (scope, payer) => partOf(accountOf(scope, payer)),
    took: (scope, payer, amount) => {
      const account = accountOf(scope, payer);
      const before = given.get(account);
      if (before === undefined && given.size >= MAX_COUNTED) return;
      given.set(account, (before ?? 0) + amount);
    },
    renew,
    close: () => clearInterval(timer),
  };
}

function accountOf(scope: RateScope, payer: string): string {
  return `${scope} ${payer}`;
}

function scopeOf(account: string): RateScope {
  return account.startsWith("work ") ? "work" : "requests";
}

/** Hashed, so that readers of the store learn no addresses. */
function nameOf(account: string): string {
  return hash("sha256", account).slice(0, 32);
}
