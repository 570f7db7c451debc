/**
 * Delegations that nobody waits for: taken on with 202, each is in the store until its outcome has
 * been delivered, so that the end of the process loses neither. What was running then is not run
 * again: whether it was done is not known, and that is its outcome.   AGTP "DELEGATE"
 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { PriorAction } from "../../dispatch/delegation.ts";
import { Collection } from "../../state/collection.ts";
import type { Store } from "../../state/store.ts";
import { recordReader } from "../../state/stored-record.ts";
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

const MAX_KEPT = 1024;
const MAX_PER_AGENT = 32;

export class DelegationRegister {
  readonly #kept: Collection<KeptDelegation>;

  private constructor(kept: Collection<KeptDelegation>) {
    this.#kept = kept;
  }

  /** Opens the register of a store. */
  static async open(store: Store): Promise<DelegationRegister> {
    const kept = await Collection.open(store, {
      name: "delegations",
      read: recordReader<KeptDelegation>({ id: "string", agentId: "string" }),
      ownerOf: ({ agentId }) => agentId,
      quota: { perOwner: MAX_PER_AGENT, all: MAX_KEPT },
      // Each waits to be delivered.
      rankOf: () => undefined,
    });
    return new DelegationRegister(kept);
  }

  /** Those that are not delivered, the oldest first. */
  list(): readonly KeptDelegation[] {
    return this.#kept.values();
  }

  /** Takes one on; false: its agent, or all of them, have too many. */
  async add(delegation: KeptDelegation): Promise<boolean> {
    const { kind } = await this.#kept.add(delegation.id, delegation);
    return kind === "added";
  }

  /** Keeps what one has come to. */
  async settle(delegation: KeptDelegation): Promise<void> {
    await this.#kept.put(delegation.id, delegation);
  }

  /** It is delivered, or cannot be. */
  async delete(id: string): Promise<void> {
    await this.#kept.delete([id]);
  }
}
