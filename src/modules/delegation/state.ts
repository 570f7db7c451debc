/** The state of delegation and execution that is kept through every reload. */
import { LRUCache } from "lru-cache";
import type { ForwardClock } from "../../base/forward-clock.ts";
import { RunSchedule } from "../../runs/run-schedule.ts";
import type { Store } from "../../state/store.ts";
import { RecentRuns } from "./recent-runs.ts";
import { type DelegationRegister, openDelegations } from "./register.ts";
import { SeenTokens } from "./seen-tokens.ts";

/** As many as may wait for their outcome to be delivered. */
const MAX_BEGUN = 10_000;

/** Runs and tasks of all agents. */
export interface DelegationState {
  readonly runs: RecentRuns;
  readonly register: DelegationRegister;
  /** Which of them are executed; deployments hand them over by it. */
  readonly schedule: RunSchedule;
  /** The latest that this process has begun: no other node is at them. */
  readonly begun: LRUCache<string, true>;
  readonly seen: SeenTokens;
}

/** Opens what an earlier process kept; recent runs end with the process. */
export async function openDelegation(
  store: Store,
  { now }: Pick<ForwardClock, "now">,
): Promise<DelegationState> {
  return {
    runs: await RecentRuns.open(),
    register: await openDelegations(store),
    schedule: new RunSchedule(),
    begun: new LRUCache({ max: MAX_BEGUN }),
    seen: await SeenTokens.open(store, now),
  };
}
