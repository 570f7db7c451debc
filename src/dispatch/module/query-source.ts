/**
 * The sources that QUERY searches for one caller: an inbox, runs, escalations. Each source
 * shows a caller its own and nothing else.   AGTP "QUERY"
 */
import type { Caller } from "../caller/caller.ts";
import type { Peer } from "../caller/peer.ts";

export interface QueryCaller {
  readonly caller: Caller;
  readonly peer: Peer;
}

export interface QueryEntry {
  /** Unique in its source; becomes part of the result's `source`. */
  readonly id: string;
  /** The values that are searched for what they say, most telling first; names of members say nothing. */
  readonly texts: readonly unknown[];
  /** The entry as it is answered. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** The newest entries of a source that are looked at; more need not be made. */
export const MAX_SOURCE_ENTRIES = 200;

/** A place that QUERY looks into, asked anew for every query. */
export interface QuerySource {
  /** The kind of its results, in the singular; QUERY's `scope` takes it in the plural, too. */
  readonly name: string;
  /** The entries that the caller may see, the newest first, a bounded number. */
  entries(asker: QueryCaller): Promise<readonly QueryEntry[]>;
}
