/**
 * The entry beside a collection's items that keeps apart, over all nodes, those who add under one
 * name: whoever adds writes it, and expects it as it was when nobody was found there. It is in the same
 * collection, since a view takes in a collection as a whole, and comes before the items, since a
 * reading in pages must have no item that is older than its guard.
 */
import { hash } from "node:crypto";
import type { Change } from "./store.ts";

/** Names share so many guards: they are never deleted, and two that meet at one only try again. */
const GUARDS = 256;

/** The key of the guard of a name. */
export function guardOf(name: string): string {
  return `!turn ${hash("sha256", name, "buffer").readUInt8(0) % GUARDS}`;
}

/** What whoever adds under a guard writes; its revision is all that matters. */
export function guardChange(collection: string, key: string): Change {
  return { kind: "put", collection, key, value: { isGuard: true } };
}
