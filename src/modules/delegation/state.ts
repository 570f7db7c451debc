/** The state of delegation and execution that is kept through every reload. */
import type { ForwardClock } from "../../base/forward-clock.ts";
import { RunSchedule } from "../../runs/run-schedule.ts";
import type { ServerState } from "../../state/state.ts";
import type { Store } from "../../state/store.ts";
import { RecentRuns } from "./recent-runs.ts";
import { type DelegationRegister, openDelegations } from "./register.ts";
import { SeenTokens } from "./seen-tokens.ts";

/** Runs and tasks of all agents. */
interface DelegationState {
  readonly runs: RecentRuns;
  readonly register: DelegationRegister;
  /** The runs that are executed; deployments hand them over by it. */
  readonly schedule: RunSchedule;
  readonly seen: SeenTokens;
}

/** Opens what an earlier process kept; recent runs end with the process. */
export async function openDelegation(
  store: Store,
  { now }: Pick<ForwardClock, "now">,
  { holders }: Pick<ServerState, "holders">,
): Promise<DelegationState> {
  return {
    runs: await RecentRuns.open(),
    register: await openDelegations(store, holders),
    schedule: new RunSchedule(),
    seen: await SeenTokens.open(store, now),
  };
}
