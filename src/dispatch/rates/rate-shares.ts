/**
 * Rates that are spent once among several nodes: each second a node leases what it has given to the payers
 * that take much, and whoever else they ask gives them only its part of the rest; never less than an equal share,
 * so that nobody is kept out who has taken nothing here. A lease ends by itself. With no word from others, a node
 * gives the whole rate.   `[limits] work_ms_per_second`, `requests_per_second`
 */
import { hash } from "node:crypto";
import { Collection } from "../../state/collection.ts";
import type { Holders } from "../../state/holders.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";

/** The accounts that are shared, each with a rate of its own. */
export type RateScope = "requests" | "work";

/** The part of Rates that other nodes have a say in. */
export interface RateShares {
  /** The part of the rate that this node may give a payer, beyond 0 and 1 at most. */
  partOf(scope: RateScope, payer: string): number;
  /** A payer has taken something here. */
  took(scope: RateScope, payer: string, amount: number): void;
}

/** By scope and account, per second, as one node has given it. */
interface Lease {
  /** Milliseconds since the epoch, by the clock of that node. */
  readonly at: number;
  readonly given: Readonly<Record<string, number>>;
}

/** Keeps what this node has given known to the others. */
export interface LeasedShares extends RateShares {
  /** Leases what was given since the last time; called once a second. */
  renew(): Promise<void>;
  close(): void;
}

interface SharesOptions {
  readonly holders: Holders;
  /** The rates in force; what is far below them is not told. */
  limitOf(scope: RateScope): number;
  onFault(error: unknown): void;
  /** Milliseconds of a clock that never goes back. */
  now?(): number;
}

/** Between two leases. */
const LEASE_EVERY_MS = 1_000;
/** A lease that was not renewed for so long is over. */
const LEASE_MS = 3_000;
/** Nobody needs what a node that is gone has leased. */
const KEPT_MS = 600_000;
/** Accounts that have been given less than this part of the rate are not told of. */
const LEAST_PART = 0.1;
/** The most payers that one lease is about. */
const MAX_PAYERS = 256;
/** Accounts that are counted within a second. */
const MAX_COUNTED = 50_000;

/** The leases of one other node, since when they are known here. */
interface Heard {
  readonly lease: Lease;
  readonly at: number;
}

/** Opens the shares of a process; one that is alone has none. */
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
  // Entries that the store has from before may be of any age.
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
    // Nobody takes all that is over: the others see it as well.
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
    // A rate falls by half at most, so that shares do not swing.
    for (const [account, rate] of before) {
      rates.set(account, Math.max(rates.get(account) ?? 0, rate / 2));
    }
    // Of the whole rate an equal share may be little: untold, it would be the whole rate again at every node.
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

/** A reader of the store learns no addresses. */
function nameOf(account: string): string {
  return hash("sha256", account).slice(0, 32);
}
