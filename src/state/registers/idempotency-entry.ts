/**
 * The entries of an Idempotency-Key: a small one for the key, and the response in a collection of
 * its own, so that opening a store does not read responses that nobody has asked for.
 */
import type { CollectionOptions } from "../collection-view.ts";
import type { Quota } from "../quota.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Change } from "../store.ts";
import type { KeptResponse } from "./kept-response.ts";

/** A key of an agent, and how far the request under it has come. */
export interface KnownKey {
  /** Equal for two requests that ask for the same. */
  readonly fingerprint: string;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  /** One that is `running` in no process any more has an end that nobody saw. */
  readonly state: "running" | "answered" | "unknown";
  /** The status of the answer; 0 before. */
  readonly status: number;
  /** The size of the kept response; 0 without one. */
  readonly bytes: number;
}

/** How much is remembered. */
export interface IdempotencyLimits {
  readonly ttlMs: number;
  readonly keysPerAgent: number;
  readonly keys: number;
  readonly bytesPerAgent: number;
  readonly bytes: number;
}

/** A day, and what a server of some thousand agents can hold. */
export const DEFAULT_LIMITS: IdempotencyLimits = {
  ttlMs: 24 * 3_600_000,
  keysPerAgent: 10_000,
  keys: 100_000,
  bytesPerAgent: 32 * 1024 * 1024,
  bytes: 256 * 1024 * 1024,
};

/** Responses by the ids of their keys. */
export const RESPONSES = "idempotency-responses";

/** The id of a key: `AGENT_ID/KEY`. No Agent-ID has a slash. */
export function idOf(agentId: string, key: string): string {
  return `${agentId}/${key}`;
}

/** Writes the response of a key. */
export function putResponse(id: string, value: KeptResponse): Change {
  return { kind: "put", collection: RESPONSES, key: id, value };
}

/**
 * The collection of all keys. Neither what runs nor another agent's keys make room for an agent's
 * own: over its bound it loses its oldest, and over the bound of all whoever has most. A key whose
 * response makes room stays taken.
 */
export function keyCollection(
  limits: IdempotencyLimits,
  isRunning: (id: string, key: KnownKey) => boolean,
): CollectionOptions<KnownKey> {
  const { ttlMs, keysPerAgent: perOwner, keys: all } = limits;
  const { bytesPerAgent: charactersPerOwner, bytes: characters } = limits;
  const bounds = { perOwner, all, charactersPerOwner, characters };
  const quota: Quota = { ...bounds, takesFromLargest: true, refusesNothing: true };
  return {
    name: "idempotency",
    read: readKey,
    ownerOf: (_, id) => id.slice(0, id.indexOf("/")),
    orderOf: ({ at }) => at,
    forgottenAt: (key, id) => (isRunning(id, key) ? Infinity : key.at + ttlMs - 1),
    quota,
    sizeOf: ({ bytes }) => bytes,
    rankOf: (key, _, id) => (isRunning(id, key) ? undefined : 0),
    withoutSize: (key) => ({ ...key, bytes: 0 }),
    changesOnDelete: (_, id) => [{ kind: "delete", collection: RESPONSES, key: id }],
  };
}

const readKey = recordReader<KnownKey>({
  ...{ fingerprint: "string", at: "number", state: "string", status: "number", bytes: "number" },
});
