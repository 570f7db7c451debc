/** What runs of tasks keep while a daemon runs, through every reload. */
import type { Collection } from "../../../state/collection.ts";
import type { Escalations } from "../../../state/escalation.ts";
import type { Store } from "../../../state/store.ts";
import { ProcessGroups } from "../process-groups.ts";
import { openApprovals, type StoredApproval } from "./approvals.ts";
import { TaskSlots } from "./task-slots.ts";

/** Two generations of a deployment share it. */
export interface RunState {
  readonly slots: TaskSlots;
  /** The programs that run. */
  readonly groups: ProcessGroups;
  /** Which escalation each task of each agent was asked about with. */
  readonly approvals: Collection<StoredApproval>;
}

/** Nothing runs yet; what was asked before is known. */
export async function openRunState(
  store: Store,
  escalations: Pick<Escalations, "find">,
): Promise<RunState> {
  const approvals = await openApprovals(store, escalations);
  return { slots: new TaskSlots(), groups: new ProcessGroups(), approvals };
}
