/**
 * The storage seam: JSON values under ordered keys, in named collections, changed in atomic groups.
 * What `commit` resolved for survives the process. One daemon has a store to itself.
 */

/** A JSON value; implementations keep a copy. */
export type StoredValue = unknown;

/** One entry of a collection. */
export interface StoredEntry {
  readonly key: string;
  readonly value: StoredValue;
}

/** Which entries to list; keys are compared by their UTF-8 octets. */
export interface ListRange {
  /** Only keys that begin so. */
  readonly prefix?: string;
  /** Only keys beyond this one, in the direction of the listing. */
  readonly after?: string;
  readonly limit?: number;
  /** From the last key to the first. */
  readonly isReversed?: boolean;
}

/** One change of a commit. */
export type Change =
  | {
      readonly kind: "put";
      readonly collection: string;
      readonly key: string;
      readonly value: StoredValue;
    }
  | { readonly kind: "delete"; readonly collection: string; readonly key: string };

export interface Store {
  get(collection: string, key: string): Promise<StoredValue | undefined>;
  list(collection: string, range?: ListRange): Promise<readonly StoredEntry[]>;
  /** All changes or none. */
  commit(changes: readonly Change[]): Promise<void>;
  close(): Promise<void>;
}
