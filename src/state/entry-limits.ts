/**
 * The limits of stored entries: names that compare alike in every driver, and values that are JSON
 * of a bounded size. Breaking them is a fault of the code that stores, and is thrown.
 */
import { hasLoneSurrogate, quoteValue } from "../base/json-value.ts";
import type { Change, CommitOutcome, Expectation } from "./store.ts";

/** The longest collection or key, in octets of UTF-8. */
export const MAX_NAME_BYTES = 512;
/** The largest value, in octets of its JSON. */
export const MAX_VALUE_BYTES: number = 16 * 1024 * 1024;

/** Throws unless a text can be a collection or a key. */
export function checkName(what: "collection" | "key", name: string): void {
  if (name === "") throw new RangeError(`the ${what} must not be empty`);
  checkBound(what, name);
}

/** Throws unless a text can bound a range of keys; the empty one bounds nothing. */
export function checkBound(what: string, text: string): void {
  const quoted = quoteValue(text);
  // A driver may end a text at NUL, and writes U+FFFD for half of a surrogate pair.
  if (text.includes("\0")) throw new RangeError(`the ${what} ${quoted} must not contain NUL`);
  if (hasLoneSurrogate(text))
    throw new RangeError(`the ${what} ${quoted} must be well-formed text`);
  const length = Buffer.byteLength(text);
  if (length <= MAX_NAME_BYTES) return;
  const limit = `at most ${MAX_NAME_BYTES} octets long, has ${length}`;
  throw new RangeError(`the ${what} ${quoted} must be ${limit}`);
}

/** A value as the JSON that is kept of it. */
function encodeValue(value: unknown): string {
  const json: string | undefined = JSON.stringify(value);
  if (json === undefined) throw new TypeError(`a ${typeof value} cannot be stored as JSON`);
  const length = Buffer.byteLength(json);
  if (length <= MAX_VALUE_BYTES) return json;
  throw new RangeError(`a value must be at most ${MAX_VALUE_BYTES} octets of JSON, has ${length}`);
}

/** A change as a driver writes it: checked, and with its value as JSON. */
export interface EncodedChange {
  readonly collection: string;
  readonly key: string;
  /** Undefined when the entry is to be deleted. */
  readonly json: string | undefined;
}

/** Checks a change; throws for one that breaks the limits. */
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
