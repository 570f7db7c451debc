/** What runs of tasks have in common while a daemon runs, through every reload. */
import { ProcessGroups } from "../process-groups.ts";
import { TaskSlots } from "./task-slots.ts";

/** Two generations of a deployment share it. */
export interface RunState {
  readonly slots: TaskSlots;
  /** The programs that run. */
  readonly groups: ProcessGroups;
}

/** Nothing runs yet. */
export function openRunState(): RunState {
  return { slots: new TaskSlots(), groups: new ProcessGroups() };
}
