/**
 * Rates per minute that count across all processes of the server: each tells the others a moment
 * later how many turns it has granted. Accounts are hashes of the payers. Across the nodes of a
 * store, each node writes its totals per account every second, and the others count the increase;
 * totals from before a node started are not counted.
 */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Collection } from "../../state/collection.ts";
import type { Holders } from "../../state/holders.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";

/** The turns that an account has taken. */
export interface MinuteTaking {
  /** A hash of the rate's name and the payer. */
  readonly account: string;
  readonly count: number;
}

/** A rate that counts turns in this process. */
interface MinuteRate {
  /** Counts turns that other processes granted to an account. */
  add(account: string, count: number): void;
}

/** Tells other processes about turns taken here. */
export type TellTaking = (taking: MinuteTaking) => void;

export class MinuteRates {
  readonly #rates: MinuteRate[] = [];
  #tell: TellTaking = () => undefined;

  /** Adds a rate; the returned function reports each turn taken here. */
  join(rate: MinuteRate): TellTaking {
    this.#rates.push(rate);
    return (taking) => this.#tell(taking);
  }

  /** Sets the function that reports turns to other processes. */
  share(tell: TellTaking): void {
    this.#tell = tell;
  }

  /** Counts turns from another process; each account belongs to one rate. */
  add({ account, count }: MinuteTaking): void {
    for (const rate of this.#rates) rate.add(account, count);
  }
}

/** Returns the account of a payer; `rate` must be unique among the joined rates. */
export function minuteAccount(rate: string, ...payer: readonly string[]): string {
  return hash("sha256", JSON.stringify([rate, ...payer])).slice(0, 32);
}

/** A node's totals by account since the first turn; an account that was left out restarts at 0. */
interface Given {
  /** The write time, in milliseconds since the epoch by that node's clock. */
  readonly at: number;
  readonly totals: Readonly<Record<string, number>>;
}

interface MinuteSharesOptions {
  readonly holders: Holders;
  readonly rates: MinuteRates;
  onFault(error: unknown): void;
  /** Returns milliseconds of a monotonic clock. */
  now?(): number;
  /** Set by tests only. */
  readonly maxAccounts?: number;
}

/** Publishes this node's totals to the other nodes. */
export interface MinuteShares {
  /** Publishes the turns since the last call, unless a write is still running; called once a second. */
  renew(): Promise<void>;
  close(): void;
}

const TELL_EVERY_MS = 1_000;
/** The idle time after which an account is no longer published. */
const REST_MS = 60_000;
/** The retention of a node's totals after its last write. */
const KEPT_MS = 600_000;
/** The maximum number of published accounts. */
const MAX_ACCOUNTS = 512;

interface Account {
  total: number;
  at: number;
}

/** Opens the shares of a process; undefined for a single process. */
export async function openMinuteShares(
  store: Store,
  options: MinuteSharesOptions,
): Promise<MinuteShares | undefined> {
  const { holders, rates, onFault } = options;
  const { now = () => performance.now(), maxAccounts = MAX_ACCOUNTS } = options;
  const { self } = holders;
  if (self === undefined) return undefined;
  const own = new Map<string, Account>();
  let isNews = false;
  let isOpen = false;
  const given = await Collection.open<Given>(store, {
    name: "minute-rates",
    read: recordReader<Given>({ at: "number", totals: "object" }),
    forgottenAt: ({ at }) => at + KEPT_MS,
    onChange: (before, after, process) => {
      // An entry that was there at the start may be of any age.
      if (process === self || after === undefined || !isOpen) return;
      for (const [account, total] of Object.entries(after.totals)) {
        const known = before?.totals[account] ?? 0;
        const count = total < known ? total : total - known;
        if (count > 0) rates.add({ account, count });
      }
    },
  });
  isOpen = true;
  rates.share(({ account, count }) => {
    const known = own.get(account);
    // Reinserted, so that the map stays ordered by last use.
    own.delete(account);
    own.set(account, { total: (known?.total ?? 0) + count, at: now() });
    isNews = true;
  });
  /** Resets unpublished accounts, because others would count their whole total again. */
  const beginAnew = (untold: ReadonlyMap<string, Account>): void => {
    for (const [account, { total }] of untold) {
      const since = own.get(account);
      if (since === undefined || since.total === total) own.delete(account);
      else own.set(account, { ...since, total: since.total - total });
    }
  };
  let failed: { readonly totals: Given["totals"]; readonly untold: typeof own } | undefined;
  const renewNow = async (): Promise<void> => {
    if (!isNews) return;
    if (failed !== undefined) {
      // The failed write may have succeeded after all.
      await given.refresh();
      if (isDeepStrictEqual(given.get(self)?.totals, failed.totals)) beginAnew(failed.untold);
      failed = undefined;
    }
    isNews = false;
    const told = [...own].slice(-maxAccounts).filter(([, { at }]) => now() - at <= REST_MS);
    const totals = Object.fromEntries(told.map(([account, { total }]) => [account, total]));
    const untold = new Map(own);
    for (const [account] of told) untold.delete(account);
    try {
      await given.put(self, { at: Date.now(), totals });
    } catch (error) {
      isNews = true;
      failed = { totals, untold };
      throw error;
    }
    beginAnew(untold);
  };
  let renewing: Promise<void> | undefined;
  const renew = (): Promise<void> => {
    renewing ??= renewNow().finally(() => {
      renewing = undefined;
    });
    return renewing;
  };
  const timer = setInterval(() => renew().catch(onFault), TELL_EVERY_MS).unref();
  return { renew, close: () => clearInterval(timer) };
}
