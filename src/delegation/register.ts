/**
 * Delegations that nobody waits for: taken on with 202, each is in the store until its outcome has
 * been delivered, so that the end of the process loses neither. What was running then is not run
 * again: whether it was done is not known, and that is its outcome.   AGTP "DELEGATE"
 */
import type { PriorAction } from "../dispatch/delegation.ts";
import { isRecord, type JsonRecord } from "../json-value.ts";
import type { Store } from "../store/store.ts";
import type { Callback } from "./callback.ts";

/** One of them. */
export interface KeptDelegation {
  readonly id: string;
  /** Who handed on, and gets the outcome under the authority that it had then. */
  readonly agentId: string;
  readonly scopes: readonly string[];
  readonly target: string;
  readonly action: string;
  readonly taskId?: string;
  readonly callback: Callback;
  /** Undefined while it runs. */
  readonly outcome?: KeptOutcome;
}

/** What is delivered, and what its record depends on. */
export interface KeptOutcome {
  readonly status: number;
  readonly body: JsonRecord;
  readonly priorActions: readonly PriorAction[];
}

const COLLECTION = "delegations";
const MAX_KEPT = 1024;
const MAX_PER_AGENT = 32;

export class DelegationRegister {
  readonly #store: Store;
  readonly #kept = new Map<string, KeptDelegation>();

  private constructor(store: Store) {
    this.#store = store;
  }

  /** Opens the register of a store. */
  static async open(store: Store): Promise<DelegationRegister> {
    const register = new DelegationRegister(store);
    for (const { key, value } of await store.list(COLLECTION)) {
      // What this register stored itself.
      if (isRecord(value)) register.#kept.set(key, value as unknown as KeptDelegation);
    }
    return register;
  }

  /** Those that are not delivered, the oldest first. */
  list(): readonly KeptDelegation[] {
    return [...this.#kept.values()];
  }

  /** Whether an agent may have another one. */
  hasRoomFor(agentId: string): boolean {
    const own = this.list().filter((one) => one.agentId === agentId).length;
    return own < MAX_PER_AGENT && this.#kept.size < MAX_KEPT;
  }

  /** Resolves once it is kept. */
  async put(delegation: KeptDelegation): Promise<void> {
    const { id } = delegation;
    const before = this.#kept.get(id);
    this.#kept.set(id, delegation);
    try {
      await this.#store.commit([
        { kind: "put", collection: COLLECTION, key: id, value: delegation },
      ]);
    } catch (error) {
      if (before === undefined) this.#kept.delete(id);
      throw error;
    }
  }

  /** It is delivered, or cannot be. */
  async delete(id: string): Promise<void> {
    this.#kept.delete(id);
    await this.#store.commit([{ kind: "delete", collection: COLLECTION, key: id }]);
  }
}
