/** What runs of tasks keep while a daemon runs, through every reload. */
import { TaskQueue } from "../../../base/task-queue.ts";
import { ProcessGroups } from "../process-groups.ts";
import { TaskSlots } from "./task-slots.ts";

/** Two generations of a deployment share it. */
export interface RunState {
  readonly slots: TaskSlots;
  /** The programs that run. */
  readonly groups: ProcessGroups;
  /** Approvals are asked for and used up one after another. */
  readonly approvalChanges: TaskQueue;
}

/** Nothing runs yet. */
export function createRunState(): RunState {
  return {
    slots: new TaskSlots(),
    groups: new ProcessGroups(),
    approvalChanges: new TaskQueue(),
  };
}
