/**
 * Something that can be found: what is searched of it, what filters compare, who may see it, and
 * what an answer says of it in each of the three formats.   AGTP "QUERY"
 */
import type { Caller } from "../../dispatch/caller/caller.ts";
import type { Peer } from "../../dispatch/caller/peer.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";

/** The form of results: for programs, for readers, or as the server itself has them. */
export const FORMATS = ["structured", "natural", "raw"] as const;
/** A format in which results are given. */
export type Format = (typeof FORMATS)[number];

/**
 * The texts that are searched. `boost` orders what answers equally well; `weight`, 0 to 1, is what
 * finding a word there counts for the confidence.
 */
export const SEARCH_FIELDS = {
  name: { boost: 4, weight: 1 },
  intent: { boost: 3, weight: 1 },
  description: { boost: 2, weight: 0.95 },
  outcome: { boost: 1.5, weight: 0.85 },
  tags: { boost: 1.5, weight: 0.9 },
  members: { boost: 1, weight: 0.75 },
  details: { boost: 0.5, weight: 0.6 },
  meaning: { boost: 0.5, weight: 0.5 },
} as const;

export type SearchField = keyof typeof SEARCH_FIELDS;

/** The caller, and its zone. */
export interface Asker {
  readonly caller: Caller;
  readonly peer: Peer;
  /** The governance zones that the caller is bound to; undefined: to none. */
  readonly zones: ReadonlySet<string> | undefined;
}

/** Tells whether the caller would get past the gates in front of an endpoint. */
export interface Access {
  readonly callable: boolean;
  /** Required, and not among what the caller acts under. */
  readonly missingScopes: readonly string[];
  /** The codes that the gates would refuse a call with. */
  readonly obstacles: readonly string[];
}

/** The values that filters compare. A filter on a value that an entry does not have excludes it. */
interface Facets {
  readonly method?: string;
  readonly path?: string;
  readonly namespace?: string;
  readonly capability?: string;
  readonly impact?: string;
  readonly actor?: string;
  readonly tier?: "A" | "B";
  readonly isIdempotent?: boolean;
  readonly isDeprecated?: boolean;
  readonly requiredScopes?: readonly string[];
  readonly agent?: AgentDocument;
  readonly status?: () => string;
  readonly tags?: readonly string[];
}

export interface SearchEntry {
  /** `endpoint`, `agent`, `recipe`, `api`, or the name of a live source. */
  readonly kind: string;
  /** Unique among its kind. */
  readonly id: string;
  readonly texts: Readonly<Partial<Record<SearchField, string>>>;
  readonly facets: Facets;
  /** Of two that answer equally well, the one with more of it comes first; more than 0. */
  readonly prominence: number;
  isVisibleTo(asker: Asker): boolean;
  /** For what can be called. */
  accessOf?(asker: Asker): Access;
  /** Entries of one class are callable by the same callers: classes are judged, not all entries. */
  readonly accessClass?: string;
  show(asker: Asker, format: Format): unknown;
}

/** Names an entry across all kinds. */
export function sourceOf({ kind, id }: Pick<SearchEntry, "kind" | "id">): string {
  return `${kind}:${id}`;
}
