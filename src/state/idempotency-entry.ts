/**
 * The entries of an Idempotency-Key: a small one for the key, and the response in a collection of
 * its own, so that opening a store does not read responses that nobody has asked for.
 */
import type { KeptResponse } from "./kept-response.ts";
import type { Change, StoredEntry } from "./store.ts";
import { recordReader } from "./stored-record.ts";

/** A key of an agent, and how far the request under it has come. */
export interface KnownKey {
  /** As it is stored. */
  readonly id: string;
  readonly agentId: string;
  /** Equal for two requests that ask for the same. */
  readonly fingerprint: string;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  /** `unknown`: it was begun, and nobody saw its end. */
  state: "running" | "answered" | "unknown";
  /** The status of the answer; 0 before. */
  status: number;
  /** The size of the kept response; 0 without one. */
  bytes: number;
}

/** Entries by `AGENT_ID/KEY`. */
export const KEYS = "idempotency";
/** Responses by the same. */
export const RESPONSES = "idempotency-responses";

/** Writes the entry. */
export function putKey({ id, fingerprint, at, state, status, bytes }: KnownKey): Change {
  const value = { fingerprint, at, state, status, bytes };
  return { kind: "put", collection: KEYS, key: id, value };
}

/** Writes the response of a key. */
export function putResponse({ id }: KnownKey, value: KeptResponse): Change {
  return { kind: "put", collection: RESPONSES, key: id, value };
}

/** Takes the response of a key away. */
export function deleteResponse({ id }: Pick<KnownKey, "id">): Change {
  return { kind: "delete", collection: RESPONSES, key: id };
}

/** Takes everything of a key away. */
export function deleteKey({ id }: Pick<KnownKey, "id">): readonly Change[] {
  return [{ kind: "delete", collection: KEYS, key: id }, deleteResponse({ id })];
}

const readWhole = recordReader<KnownKey>({
  ...{ fingerprint: "string", at: "number", status: "number", bytes: "number" },
});

/**
 * An entry that another process left; undefined for what is none. A request that was running then
 * will not be answered any more.
 */
export function readKey({ key: id, value }: StoredEntry): KnownKey | undefined {
  const whole = readWhole(value);
  if (whole === undefined) return undefined;
  const { fingerprint, at, state, status, bytes } = whole;
  const agentId = id.slice(0, id.indexOf("/"));
  const known = { id, agentId, fingerprint, at, status, bytes };
  return { ...known, state: state === "answered" ? "answered" : "unknown" };
}
