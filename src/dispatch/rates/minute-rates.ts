/**
 * Rates by the minute of which a payer has one account, whichever process of the server it asks: what
 * one has given is counted by the others a moment later. Payers are known to them by a hash alone. Over
 * the nodes of a store each writes down every second how much it has given to whom in all, and the others
 * count what has come to it; what was given before a node began it does not count.
 */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Collection } from "../../state/collection.ts";
import type { Holders } from "../../state/holders.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";

/** One account that has given something. */
export interface MinuteTaking {
  /** A hash of the rate's name and the payer. */
  readonly account: string;
  readonly count: number;
}

/** A rate that is kept here. */
interface MinuteRate {
  /** Counts what other processes have given to an account. */
  add(account: string, count: number): void;
}

/** Tells the other processes. */
export type TellTaking = (taking: MinuteTaking) => void;

export class MinuteRates {
  readonly #rates: MinuteRate[] = [];
  #tell: TellTaking = () => undefined;

  /** Counts a rate over all processes; the result is called with each taking. */
  join(rate: MinuteRate): TellTaking {
    this.#rates.push(rate);
    return (taking) => this.#tell(taking);
  }

  /** Tells of every taking from now on. */
  share(tell: TellTaking): void {
    this.#tell = tell;
  }

  /** Counts a taking from another process: an account is of one rate alone. */
  add({ account, count }: MinuteTaking): void {
    for (const rate of this.#rates) rate.add(account, count);
  }
}

/** The account of a payer; `rate` is unique among those that are joined. */
export function minuteAccount(rate: string, ...payer: readonly string[]): string {
  return hash("sha256", JSON.stringify([rate, ...payer])).slice(0, 32);
}

/** By account, so much in all since it was asked for first; an account that was not told of begins anew. */
interface Given {
  /** Milliseconds since the epoch, by the clock of that node. */
  readonly at: number;
  readonly totals: Readonly<Record<string, number>>;
}

interface MinuteSharesOptions {
  readonly holders: Holders;
  readonly rates: MinuteRates;
  onFault(error: unknown): void;
  /** Milliseconds of a clock that never goes back. */
  now?(): number;
  /** Chosen by tests alone. */
  readonly maxAccounts?: number;
}

/** Tells other nodes how much of each rate this node has given. */
export interface MinuteShares {
  /** Tells what was given since the last time, unless that is still being told; called once a second. */
  renew(): Promise<void>;
  close(): void;
}

const TELL_EVERY_MS = 1_000;
/** An account that was at rest for so long is told no more. */
const REST_MS = 60_000;
/** Nobody needs what a node that is gone has given. */
const KEPT_MS = 600_000;
/** The most accounts that others are told of. */
const MAX_ACCOUNTS = 512;

interface Account {
  total: number;
  at: number;
}

/** Opens the shares of a process; one that is alone has none. */
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
    // The order is that of the latest takings.
    own.delete(account);
    own.set(account, { total: (known?.total ?? 0) + count, at: now() });
    isNews = true;
  });
  /** Accounts that are not told of begin anew: the others would count all of them again. */
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
      // It may have been written all the same.
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
