/** What the floor methods keep while a daemon runs, through every reload. */
import { Runs } from "../execution/runs.ts";
import type { Store } from "../store/store.ts";

/** One member a part, opened once. */
export interface FloorState {
  readonly store: Store;
  readonly runs: Runs;
}

/** Opens what an earlier process kept. */
export async function openFloorState(store: Store): Promise<FloorState> {
  return { store, runs: new Runs() };
}
