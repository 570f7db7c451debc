/** What runs of tasks keep while a daemon runs, through every reload. */
import { Serial } from "../../../tasks/serial.ts";
import { TaskSlots } from "./task-slots.ts";

/** Two generations of a deployment share it. */
export interface RunState {
  readonly slots: TaskSlots;
  /** Approvals are asked for and used up one after another. */
  readonly approvalChanges: Serial;
}

/** Nothing runs yet. */
export function createRunState(): RunState {
  return { slots: new TaskSlots(), approvalChanges: new Serial() };
}
