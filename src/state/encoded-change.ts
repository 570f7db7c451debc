/** A change as a driver writes it: checked, and with its value as JSON. */
import { checkName, encodeValue } from "./entry-limits.ts";
import type { Change, CommitOutcome, Expectation } from "./store.ts";

/** One change that can be written. */
export interface EncodedChange {
  readonly collection: string;
  readonly key: string;
  /** Undefined when the entry is to be deleted. */
  readonly json: string | undefined;
}

/** Checks a change; throws for one that breaks the rules of `entry-limits.ts`. */
export function encodeChange(change: Change): EncodedChange {
  const { kind, collection, key } = change;
  checkName("collection", collection);
  checkName("key", key);
  return { collection, key, json: kind === "put" ? encodeValue(change.value) : undefined };
}

/** A commit that waits to be made. */
export interface PendingCommit {
  readonly changes: readonly EncodedChange[];
  readonly expectations: readonly Expectation[];
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}
