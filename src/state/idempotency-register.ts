/**
 * The Idempotency-Keys of all agents: a key belongs to its agent for a day, and to one request. That
 * a request is begun is in the store before its handler is called, its response before the reply
 * leaves; so whatever becomes of the process, no request is executed twice.   AGTP-API §10.1.5
 */
import { flatText } from "../base/flat-text.ts";
import {
  deleteKey,
  deleteResponse,
  KEYS,
  type KnownKey,
  putKey,
  putResponse,
  RESPONSES,
  readKey,
} from "./idempotency-entry.ts";
import { DEFAULT_LIMITS, IdempotencyIndex, type IdempotencyLimits } from "./idempotency-index.ts";
import { type ExecutionSteps, IdempotentExecution } from "./idempotent-execution.ts";
import { type KeptResponse, readKeptResponse, weighResponse } from "./kept-response.ts";
import type { Change, Store } from "./store.ts";

/** A request under a key. */
export interface KeyedRequest {
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
  /** It was begun, and nobody saw its end. */
  | { readonly kind: "unknown" }
  /** Another request has the key. */
  | { readonly kind: "taken" };

/** Options that only tests choose. */
export interface IdempotencyOptions {
  readonly limits?: Partial<IdempotencyLimits>;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** A response beyond this is not kept. */
const MAX_RESPONSE_BYTES = 256 * 1024;
/** How many expired keys one request clears away at most. */
const SWEPT_AT_ONCE = 64;

export class IdempotencyRegister {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #index: IdempotencyIndex;
  readonly #executions = new Map<KnownKey, IdempotentExecution>();

  private constructor(store: Store, { limits, now = Date.now }: IdempotencyOptions) {
    this.#store = store;
    this.#now = now;
    this.#index = new IdempotencyIndex({ ...DEFAULT_LIMITS, ...limits });
  }

  /** Opens the register of a store, and clears away what has expired. */
  static async open(store: Store, options: IdempotencyOptions = {}): Promise<IdempotencyRegister> {
    const register = new IdempotencyRegister(store, options);
    const changes: Change[] = [];
    const keys: KnownKey[] = [];
    for (const entry of await store.list(KEYS)) {
      const key = readKey(entry);
      if (key === undefined) changes.push(...deleteKey({ id: entry.key }));
      else keys.push(key);
    }
    for (const key of keys.sort((left, right) => left.at - right.at)) {
      register.#index.add(key);
      changes.push(...register.#trim(key.agentId));
    }
    changes.push(...register.#sweep(Number.POSITIVE_INFINITY));
    await store.commit(changes);
    return register;
  }

  /** Takes a free key for a request, or says what has become of it. */
  claim({ agentId, key, fingerprint }: KeyedRequest): Claim {
    const id = flatText(`${agentId}/${key}`);
    const known = this.#index.get(id);
    if (known !== undefined && !this.#index.isExpired(known, this.#now())) {
      return known.fingerprint === fingerprint ? this.#recall(known) : { kind: "taken" };
    }
    const expired = known === undefined ? [] : this.#forget(known);
    const request = { id, agentId, fingerprint, at: this.#now() };
    const taken: KnownKey = { ...request, state: "running", status: 0, bytes: 0 };
    this.#index.add(taken);
    const cleared = [...expired, ...this.#sweep(SWEPT_AT_ONCE), ...this.#trim(agentId)];
    const execution = new IdempotentExecution(this.#stepsOf(taken, cleared));
    this.#executions.set(taken, execution);
    return { kind: "claimed", execution };
  }

  #recall(known: KnownKey): Claim {
    const execution = this.#executions.get(known);
    if (execution !== undefined) return { kind: "running", execution };
    if (known.state !== "answered") return { kind: "unknown" };
    const { id, status, bytes } = known;
    const response =
      bytes === 0
        ? Promise.resolve(undefined)
        : this.#store.get(RESPONSES, id).then(readKeptResponse);
    return { kind: "answered", status, response };
  }

  /** `cleared` is written together with the beginning. */
  #stepsOf(key: KnownKey, cleared: readonly Change[]): ExecutionSteps {
    return {
      begin: () => this.#begin(key, cleared),
      answer: (response, isKept) => this.#answer(key, response, isKept),
      release: () => this.#release(key),
      abandon: () => this.#settle(key, "unknown"),
    };
  }

  async #begin(key: KnownKey, cleared: readonly Change[]): Promise<void> {
    try {
      await this.#store.commit([...cleared, putKey(key)]);
    } catch (error) {
      this.#settle(key, "unknown");
      this.#index.delete(key);
      throw error;
    }
  }

  async #answer(key: KnownKey, response: KeptResponse, isKept: boolean): Promise<void> {
    const bytes = weighResponse(response);
    key.state = "answered";
    key.status = response.status;
    if (isKept && bytes <= MAX_RESPONSE_BYTES) this.#index.keepResponse(key, bytes);
    const dropped = this.#trimResponses(key.agentId);
    const kept = key.bytes > 0 ? putResponse(key, response) : deleteResponse(key);
    try {
      await this.#store.commit([...dropped, putKey(key), kept]);
    } catch (error) {
      // The store still says of the key that its request was begun.
      this.#index.dropResponse(key);
      this.#settle(key, "unknown");
      throw error;
    }
    this.#settle(key, "answered");
  }

  async #release(key: KnownKey): Promise<void> {
    this.#settle(key, "unknown");
    await this.#store.commit(this.#forget(key));
  }

  #settle(key: KnownKey, state: KnownKey["state"]): void {
    key.state = state;
    this.#executions.delete(key);
  }

  /** Keys whose time is over. */
  #sweep(count: number): readonly Change[] {
    return this.#index.expired(this.#now(), count).flatMap((key) => this.#forget(key));
  }

  /** Keys beyond the bounds, after an agent got one more. */
  #trim(agentId: string): readonly Change[] {
    const changes: Change[] = [];
    for (;;) {
      const key = this.#index.surplusKey(agentId);
      if (key === undefined) return changes;
      changes.push(...this.#forget(key));
    }
  }

  /** Responses beyond the bounds: the keys stay taken. */
  #trimResponses(agentId: string): readonly Change[] {
    const changes: Change[] = [];
    for (;;) {
      const key = this.#index.surplusResponse(agentId);
      if (key === undefined) return changes;
      this.#index.dropResponse(key);
      changes.push(putKey(key), deleteResponse(key));
    }
  }

  #forget(key: KnownKey): readonly Change[] {
    this.#index.delete(key);
    return deleteKey(key);
  }
}
