/**
 * The Idempotency-Keys of all agents: a key belongs to its agent for a day, and to one request. That
 * a request is begun is in the store before its handler is called, its response before the reply
 * leaves; so whatever becomes of the process, no request is executed twice.   AGTP-API §10.1.5
 */
import { flatText } from "../../base/kept-text.ts";
import { Collection } from "../collection.ts";
import type { CollectionOptions } from "../collection-options.ts";
import type { Quota, Rank } from "../quota.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Change, Store } from "../store.ts";
import { IdempotentExecution } from "./idempotent-execution.ts";
import { type KeptResponse, readKeptResponse, weighResponse } from "./kept-response.ts";

interface KeyedRequest {
  readonly agentId: string;
  readonly key: string;
  /** Equal for two requests that ask for the same. */
  readonly fingerprint: string;
}

/** The state of the request under a key. */
export type Claim =
  /** Nobody has asked for this yet. */
  | { readonly kind: "claimed"; readonly execution: IdempotentExecution }
  | { readonly kind: "running"; readonly execution: IdempotentExecution }
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Resolves to undefined for a response that is not kept. */
      readonly response: Promise<KeptResponse | undefined>;
    }
  /** It was begun, and nobody saw its end, unless another node did that this one has not heard of. */
  | { readonly kind: "unknown" }
  /** Another request has the key. */
  | { readonly kind: "taken" };

/** The surroundings of the register; the limits are chosen by tests alone. */
export interface IdempotencyOptions {
  readonly limits?: Partial<IdempotencyLimits>;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** A request that this process executes. */
interface Running {
  readonly fingerprint: string;
  readonly at: number;
  readonly execution: IdempotentExecution;
}

/** A response beyond this is not kept. */
const MAX_RESPONSE_BYTES = 256 * 1024;

export class IdempotencyRegister {
  readonly #store: Store;
  readonly #keys: Collection<KnownKey>;
  readonly #running: Map<string, Running>;

  private constructor(store: Store, keys: Collection<KnownKey>, running: Map<string, Running>) {
    this.#store = store;
    this.#keys = keys;
    this.#running = running;
  }

  /** Opens the register of a store, and clears away what has expired. */
  static async open(
    store: Store,
    { limits, now = Date.now }: IdempotencyOptions,
  ): Promise<IdempotencyRegister> {
    const running = new Map<string, Running>();
    // An older request under the key is not the one that runs.
    const isRunning = (id: string, { at }: KnownKey): boolean => running.get(id)?.at === at;
    const options = keyCollection({ ...DEFAULT_LIMITS, ...limits }, isRunning);
    const keys = await Collection.open(store, { ...options, now });
    return new IdempotencyRegister(store, keys, running);
  }

  /** Takes a free key for a request, or says what has become of it. */
  claim({ agentId, key, fingerprint }: KeyedRequest): Claim {
    const id = flatText(idOf(agentId, key));
    const running = this.#running.get(id);
    const kept = running === undefined ? this.#keys.get(id) : undefined;
    const known = running ?? kept;
    if (known !== undefined && known.fingerprint !== fingerprint) return { kind: "taken" };
    if (running !== undefined) return { kind: "running", execution: running.execution };
    if (kept !== undefined) return this.#recall(id, kept);
    const at = this.#keys.now();
    const execution = this.#executionOf(id, fingerprint, at);
    this.#running.set(id, { fingerprint, at, execution });
    return { kind: "claimed", execution };
  }

  #recall(id: string, { state, status, bytes }: KnownKey): Claim {
    if (state !== "answered") return { kind: "unknown" };
    const response =
      bytes === 0
        ? Promise.resolve(undefined)
        : this.#store.get(RESPONSES, id).then(readKeptResponse);
    return { kind: "answered", status, response };
  }

  #executionOf(id: string, fingerprint: string, at: number): IdempotentExecution {
    const begun: KnownKey = { fingerprint, at, state: "running", status: 0, bytes: 0 };
    return new IdempotentExecution({
      begin: () => this.#begin(id, begun),
      answer: (response, isKept) => this.#answer({ id, begun }, response, isKept),
      release: () => this.#release({ id, begun }),
      abandon: () => void this.#running.delete(id),
    });
  }

  async #begin(id: string, key: KnownKey): Promise<boolean> {
    let isBegun = false;
    try {
      const { kind } = await this.#keys.add(id, key);
      isBegun = kind === "added";
    } finally {
      if (!isBegun) this.#running.delete(id);
    }
    return isBegun;
  }

  async #answer({ id, begun }: Begun, response: KeptResponse, isKept: boolean): Promise<void> {
    const { status } = response;
    const weight = weighResponse(response);
    const bytes = isKept && weight <= MAX_RESPONSE_BYTES ? weight : 0;
    const put: Change = { kind: "put", collection: RESPONSES, key: id, value: response };
    const also = bytes === 0 ? [] : [put];
    const answered = (key: KnownKey): KnownKey | undefined =>
      isOf(begun, key) ? { ...key, state: "answered", status, bytes } : undefined;
    try {
      await this.#keys.change(id, answered, { also, makesRoom: true });
    } finally {
      // Where it could not be kept, the store still says that the request was begun.
      this.#running.delete(id);
    }
  }

  async #release({ id, begun }: Begun): Promise<void> {
    try {
      await this.#keys.take(id, (key) => isOf(begun, key));
    } finally {
      this.#running.delete(id);
    }
  }
}

/** A key as its request was begun. */
interface Begun {
  readonly id: string;
  readonly begun: KnownKey;
}

/** False: the key has made room for others meanwhile, and another request was begun under it. */
function isOf(begun: KnownKey, { fingerprint, at }: KnownKey): boolean {
  return fingerprint === begun.fingerprint && at === begun.at;
}

/** A key of an agent, and how far the request under it has come. */
interface KnownKey {
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

interface IdempotencyLimits {
  readonly ttlMs: number;
  readonly keysPerAgent: number;
  readonly keys: number;
  readonly bytesPerAgent: number;
  readonly bytes: number;
}

/** A day, and what a server of some thousand agents can hold. */
const DEFAULT_LIMITS: IdempotencyLimits = {
  ttlMs: 24 * 3_600_000,
  keysPerAgent: 10_000,
  keys: 100_000,
  bytesPerAgent: 32 * 1024 * 1024,
  bytes: 256 * 1024 * 1024,
};

/** As long as another process may execute what it has begun. */
const MAY_RUN_MS = 3_600_000;

/** Evicts last what another process may be executing. */
function rankOf({ state, at }: KnownKey, now: number): Rank {
  return state === "running" && now - at < MAY_RUN_MS ? 1 : 0;
}

/** Responses by the ids of their keys. */
const RESPONSES = "idempotency-responses";

/** The id of a key: `AGENT_ID/KEY`. No Agent-ID has a slash. */
function idOf(agentId: string, key: string): string {
  return `${agentId}/${key}`;
}

/**
 * The entries of an Idempotency-Key: a small one for the key, and the response in a collection of
 * its own, so that opening a store does not read responses that nobody has asked for. The
 * collection of all keys. Neither what runs nor another agent's keys make room for an agent's own:
 * over its bound it loses its oldest, and over the bound of all whoever has most. A key whose
 * response makes room stays taken.
 */
function keyCollection(
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
    rankOf: (key, now, id) => (isRunning(id, key) ? undefined : rankOf(key, now)),
    withoutSize: (key) => ({ ...key, bytes: 0 }),
    changesOnDelete: (_, id) => [{ kind: "delete", collection: RESPONSES, key: id }],
  };
}

const readKey = recordReader<KnownKey>({
  ...{ fingerprint: "string", at: "number", state: "string", status: "number", bytes: "number" },
});
