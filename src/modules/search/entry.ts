/**
 * A searchable entry: its texts, the values that filters compare, its visibility, and its view in each of the three
 * formats.   AGTP "QUERY"
 */
import type { Caller } from "../../dispatch/caller/caller.ts";
import type { Peer } from "../../dispatch/caller/peer.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";

/** Formats of results: for programs, for readers, or as stored by the server. */
export const FORMATS = ["structured", "natural", "raw"] as const;
/** The format of results. */
export type Format = (typeof FORMATS)[number];

/**
 * The searched fields. `boost` orders hits of equal confidence; `weight`, 0 to 1, is the share of confidence that a
 * match in the field gives.
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

/** The caller, and its zones. */
export interface Asker {
  readonly caller: Caller;
  readonly peer: Peer;
  /** The governance zones that the caller is bound to; undefined for no binding. */
  readonly zones: ReadonlySet<string> | undefined;
}

/** Predicts if the caller would pass the gates in front of an endpoint. */
export interface Access {
  readonly callable: boolean;
  /** Required scopes that the caller does not hold. */
  readonly missingScopes: readonly string[];
  /** Codes with which the gates would refuse a call. */
  readonly obstacles: readonly string[];
}

/** The values that filters compare. A filter on an absent value excludes the entry. */
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
  /** Unique within its kind. */
  readonly id: string;
  readonly texts: Readonly<Partial<Record<SearchField, string>>>;
  readonly facets: Facets;
  /** Orders otherwise equal hits, the larger first; more than 0. */
  readonly prominence: number;
  isVisibleTo(asker: Asker): boolean;
  /** Present for entries that can be called. */
  accessOf?(asker: Asker): Access;
  /** Entries of one class are callable by the same callers, so access is judged once per class. */
  readonly accessClass?: string;
  show(asker: Asker, format: Format): unknown;
}

/** Names an entry uniquely across kinds. */
export function sourceOf({ kind, id }: Pick<SearchEntry, "kind" | "id">): string {
  return `${kind}:${id}`;
}
