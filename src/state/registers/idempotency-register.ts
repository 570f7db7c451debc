/**
 * The Idempotency-Keys of agents: a key belongs to its agent and one request for a day. The beginning of a request
 * is stored before its handler is called, and its response before the reply leaves, so no request is executed twice,
 * even if the process dies. AGTP-API §10.1.5
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
  /** Equal for two identical requests. */
  readonly fingerprint: string;
}

/** The state of a key's request. */
export type Claim =
  /** The key is new. */
  | { readonly kind: "claimed"; readonly execution: IdempotentExecution }
  | { readonly kind: "running"; readonly execution: IdempotentExecution }
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Resolves to undefined if the response was not kept. */
      readonly response: Promise<KeptResponse | undefined>;
    }
  /** It began and its end is unknown here, though another node may know it. */
  | { readonly kind: "unknown" }
  /** Another request has the key. */
  | { readonly kind: "taken" };

/** The clock of the register; only tests set limits. */
export interface IdempotencyOptions {
  readonly limits?: Partial<IdempotencyLimits>;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** A request in progress in this process. */
interface Running {
  readonly fingerprint: string;
  readonly at: number;
  readonly execution: IdempotentExecution;
}

/** Larger responses are not kept. */
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

  /** Opens the register of a store, and deletes expired keys. */
  static async open(
    store: Store,
    { limits, now = Date.now }: IdempotencyOptions,
  ): Promise<IdempotencyRegister> {
    const running = new Map<string, Running>();
    // An older request under the same key is not running.
    const isRunning = (id: string, { at }: KnownKey): boolean => running.get(id)?.at === at;
    const options = keyCollection({ ...DEFAULT_LIMITS, ...limits }, isRunning);
    const keys = await Collection.open(store, { ...options, now });
    return new IdempotencyRegister(store, keys, running);
  }

  /** Claims a free key, or returns the state of its request. */
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
      // If storing failed, the store still says that the request began.
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

/** A key as stored at the beginning of its request. */
interface Begun {
  readonly id: string;
  readonly begun: KnownKey;
}

/** False if the key was evicted meanwhile, and another request began under it. */
function isOf(begun: KnownKey, { fingerprint, at }: KnownKey): boolean {
  return fingerprint === begun.fingerprint && at === begun.at;
}

/** An agent's key, and the progress of its request. */
interface KnownKey {
  /** Equal for two identical requests. */
  readonly fingerprint: string;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly at: number;
  /** A request still `running` that no process executes ended unobserved. */
  readonly state: "running" | "answered" | "unknown";
  /** The status of the response; 0 before. */
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

/** A day, and sizes for a server with thousands of agents. */
const DEFAULT_LIMITS: IdempotencyLimits = {
  ttlMs: 24 * 3_600_000,
  keysPerAgent: 10_000,
  keys: 100_000,
  bytesPerAgent: 32 * 1024 * 1024,
  bytes: 256 * 1024 * 1024,
};

/** How long another process may still be executing a request. */
const MAY_RUN_MS = 3_600_000;

/** Evicts last what another process may be executing. */
function rankOf({ state, at }: KnownKey, now: number): Rank {
  return state === "running" && now - at < MAY_RUN_MS ? 1 : 0;
}

/** Responses by the ids of their keys. */
const RESPONSES = "idempotency-responses";

/** The id of a key: `AGENT_ID/KEY`, unambiguous since an Agent-ID contains no slash. */
function idOf(agentId: string, key: string): string {
  return `${agentId}/${key}`;
}

/**
 * The collection of keys. Entries are small: responses have a collection of their own, so that opening a store does
 * not read them. Running requests and other agents' keys are not evicted for an agent's own: over its bound it loses
 * its oldest, and over the total bound the largest agent does. A key whose response is evicted stays taken.
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
