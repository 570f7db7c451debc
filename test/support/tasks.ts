/** Registers of what waits, over a clock that the test moves. */

import type { Quota } from "../../src/state/quota.ts";
import type { Decision, EscalationRequest, Verdict } from "../../src/state/registers/escalation.ts";
import { EscalationRegister } from "../../src/state/registers/escalation-register.ts";
import { SuspensionRegister } from "../../src/state/registers/suspension-register.ts";
import type { ServerState } from "../../src/state/state.ts";
import type { Store } from "../../src/state/store.ts";

/** A clock that stands still until it is moved. */
export interface TestClock {
  at: number;
}

/** Both registers over a store; opened again, they are what a new process finds. */
export async function openRegisters(
  store: Store,
  clock: TestClock,
  limits: Quota = {},
): Promise<Pick<ServerState, "escalations" | "suspensions">> {
  const options = { limits, now: () => clock.at };
  return {
    escalations: await EscalationRegister.open(store, options),
    suspensions: await SuspensionRegister.open(store, options),
  };
}

/** What somebody wants decided. */
export function wish(
  agentId: string,
  taskId: string,
  changes: Partial<EscalationRequest> = {},
): EscalationRequest {
  return {
    ...{ agentId, taskId, reason: "scope_limit", context: { q: "?" }, priority: "normal" },
    ...{ deadlineAt: 1_000, fingerprint: "f" },
    ...changes,
  };
}

/** A word of an operator. */
export function word(status: Verdict, changes: Partial<Decision> = {}): Decision {
  return {
    ...{ attestationId: `att-${status}`, at: 0, authority: "operator" },
    status,
    ...changes,
  };
}
