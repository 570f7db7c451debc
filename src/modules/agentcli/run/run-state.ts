/** The state of tasks' runs while a daemon runs, through every reload. */
import type { ForwardClock } from "../../../base/forward-clock.ts";
import { ProcessGroups } from "../../../base/process-groups.ts";
import type { ServerState } from "../../../state/state.ts";
import type { Store } from "../../../state/store.ts";
import { Approvals } from "./approvals.ts";
import { TaskRuns } from "./task-runs.ts";
import { TaskTurns } from "./task-turns.ts";

/** Two generations of a deployment share it. */
export interface RunState {
  readonly runs: TaskRuns;
  readonly approvals: Approvals;
  /** The programs that run. */
  readonly groups: ProcessGroups;
}

/** Opens what an earlier process kept; nothing runs yet. */
export async function openRunState(
  store: Store,
  _: Pick<ForwardClock, "now">,
  { escalations, holders }: Pick<ServerState, "escalations" | "holders">,
): Promise<RunState> {
  const isShared = holders.self !== undefined;
  const turns = isShared ? await TaskTurns.open(store, holders) : undefined;
  return {
    runs: await TaskRuns.open(turns),
    approvals: await Approvals.open(store, escalations),
    groups: new ProcessGroups(),
  };
}
