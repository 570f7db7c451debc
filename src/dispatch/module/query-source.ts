/**
 * Sources that QUERY searches for one caller: an inbox, runs, escalations. Each shows a caller only
 * the caller's own entries.   AGTP "QUERY"
 */
import type { Caller } from "../caller/caller.ts";
import type { Peer } from "../caller/peer.ts";

export interface QueryCaller {
  readonly caller: Caller;
  readonly peer: Peer;
}

export interface QueryEntry {
  /** Unique in its source; part of the result's `source`. */
  readonly id: string;
  /** The values that are searched, the most relevant first; names of members are not searched. */
  readonly texts: readonly unknown[];
  /** The entry as QUERY returns it. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** The maximum number of a source's newest entries that are searched; further ones are ignored. */
export const MAX_SOURCE_ENTRIES = 200;

/** A source of QUERY, read anew for each query. */
export interface QuerySource {
  /** The kind of its results, in the singular; QUERY's `scope` also accepts the plural. */
  readonly name: string;
  /** Returns the entries that the caller may see, newest first and bounded in number. */
  entries(asker: QueryCaller): Promise<readonly QueryEntry[]>;
}
