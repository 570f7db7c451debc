/** What waits, through every reload and restart: escalations with their tasks, and sessions. */

import { EscalationRegister } from "../../state/escalation-register.ts";
import type { Store } from "../../state/store.ts";
import { SuspensionRegister } from "./suspension-register.ts";

/** The state of it. */
export interface TaskState {
  readonly escalations: EscalationRegister;
  readonly suspensions: SuspensionRegister;
}

/** Opens it over a store. */
export async function openTasks(store: Store): Promise<TaskState> {
  return {
    escalations: await EscalationRegister.open(store),
    suspensions: await SuspensionRegister.open(store),
  };
}
