/**
 * Rates by the minute over the nodes of a store: each second a node writes down how much it has given to
 * whom in all, and the others count what has come to it. What was given before a node began it does not
 * count.
 */
import { Collection } from "../../state/collection.ts";
import type { Holders } from "../../state/holders.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";
import type { MinuteRates } from "./minute-rates.ts";

/** By account, so much in all since it was asked for first; an account that was at rest begins anew. */
interface Given {
  /** Milliseconds since the epoch, by the clock of that node. */
  readonly at: number;
  readonly totals: Readonly<Record<string, number>>;
}

/** The parts of shares. */
export interface MinuteSharesOptions {
  readonly holders: Holders;
  readonly rates: MinuteRates;
  onFault(error: unknown): void;
  /** Milliseconds of a clock that never goes back. */
  now?(): number;
}

/** Tells other nodes how much of each rate this node has given. */
export interface MinuteShares {
  /** Tells what was given since the last time; called once a second. */
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
  { holders, rates, onFault, now = () => performance.now() }: MinuteSharesOptions,
): Promise<MinuteShares | undefined> {
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
  const renew = async (): Promise<void> => {
    if (!isNews) return;
    isNews = false;
    for (const [account, { at }] of own) if (now() - at > REST_MS) own.delete(account);
    const latest = [...own].slice(-MAX_ACCOUNTS).map(([account, { total }]) => [account, total]);
    await given.put(self, { at: Date.now(), totals: Object.fromEntries(latest) });
  };
  const timer = setInterval(() => renew().catch(onFault), TELL_EVERY_MS).unref();
  return { renew, close: () => clearInterval(timer) };
}
