/**
 * The limits of stored entries: names that compare alike in every driver, and JSON values of bounded size. Breaking
 * them is a bug of the caller, and throws.
 */
import { hasLoneSurrogate, quoteValue } from "../base/json-value.ts";
import type { Change, CommitOutcome, Expectation } from "./store.ts";

/** The longest collection or key, in octets of UTF-8. */
export const MAX_NAME_BYTES = 512;
/** The largest value, in octets of its JSON. */
export const MAX_VALUE_BYTES: number = 16 * 1024 * 1024;

/** Throws unless a text is valid as a collection or key. */
export function checkName(what: "collection" | "key", name: string): void {
  if (name === "") throw new RangeError(`the ${what} must not be empty`);
  checkBound(what, name);
}

/** Throws unless a text is valid as the bound of a key range; the empty one is no bound. */
export function checkBound(what: string, text: string): void {
  const quoted = quoteValue(text);
  // A driver may end a string at NUL, and encodes a lone surrogate as U+FFFD.
  if (text.includes("\0")) throw new RangeError(`the ${what} ${quoted} must not contain NUL`);
  if (hasLoneSurrogate(text))
    throw new RangeError(`the ${what} ${quoted} must be well-formed text`);
  const length = Buffer.byteLength(text);
  if (length <= MAX_NAME_BYTES) return;
  const limit = `at most ${MAX_NAME_BYTES} octets long, has ${length}`;
  throw new RangeError(`the ${what} ${quoted} must be ${limit}`);
}

/** Serializes a value as JSON. */
function encodeValue(value: unknown): string {
  const json: string | undefined = JSON.stringify(value);
  if (json === undefined) throw new TypeError(`a ${typeof value} cannot be stored as JSON`);
  const length = Buffer.byteLength(json);
  if (length <= MAX_VALUE_BYTES) return json;
  throw new RangeError(`a value must be at most ${MAX_VALUE_BYTES} octets of JSON, has ${length}`);
}

/** A checked change with its value as JSON, ready for a driver. */
export interface EncodedChange {
  readonly collection: string;
  readonly key: string;
  /** Undefined: a deletion. */
  readonly json: string | undefined;
}

/** Checks and encodes a change; throws if it breaks the limits. */
export function encodeChange(change: Change): EncodedChange {
  const { kind, collection, key } = change;
  checkName("collection", collection);
  checkName("key", key);
  return { collection, key, json: kind === "put" ? encodeValue(change.value) : undefined };
}

/** A queued commit. */
export interface PendingCommit {
  readonly changes: readonly EncodedChange[];
  readonly expectations: readonly Expectation[];
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}
