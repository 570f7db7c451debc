/**
 * Delegations that nobody waits for: taken on with 202, each is in the store until its outcome has
 * been delivered, so that the end of the process loses neither. What was running then is not run
 * again: whether it was done is not known, and that is its outcome.   AGTP "DELEGATE"
 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { PriorAction } from "../../dispatch/delegation.ts";
import type { RunKind } from "../../runs/run-kind.ts";
import { RunRegister } from "../../runs/run-register.ts";
import type { Store } from "../../state/store.ts";
import { recordReader } from "../../state/stored-record.ts";
import type { Callback } from "./callback.ts";

/** One of them. */
export interface KeptDelegation {
  readonly id: string;
  /** The agent that handed on, and gets the outcome under the authority that it had then. */
  readonly agentId: string;
  readonly scopes: readonly string[];
  readonly target: string;
  readonly action: string;
  readonly taskId?: string;
  readonly callback: Callback;
  /** Undefined while it runs. */
  readonly outcome?: KeptOutcome;
}

/** The message that is delivered, and what its record depends on. */
export interface KeptOutcome {
  readonly status: number;
  readonly body: JsonRecord;
  readonly priorActions: readonly PriorAction[];
}

/** Each waits to be delivered: none is evicted. */
const KIND: RunKind<KeptDelegation, "running" | "ended"> = {
  name: "delegations",
  read: recordReader<KeptDelegation>({ id: "string", agentId: "string" }),
  statuses: {
    running: { phase: "active", next: ["ended"] },
    ended: { phase: "waiting", next: [] },
  },
  statusOf: ({ outcome }) => (outcome === undefined ? "running" : "ended"),
  idOf: ({ id }) => id,
  ownerOf: ({ agentId }) => agentId,
  quota: { perOwner: 32, all: 1024 },
};

/** Those that are not delivered. */
export type DelegationRegister = RunRegister<KeptDelegation>;

/** Opens the register of a store. */
export function openDelegations(store: Store): Promise<DelegationRegister> {
  return RunRegister.open(store, KIND);
}
