/** What the floor methods keep while a daemon runs, through every reload. */
import { DelegationRegister } from "../delegation/register.ts";
import { SeenTokens } from "../delegation/seen-tokens.ts";
import { Runs } from "../execution/runs.ts";
import type { Store } from "../store/store.ts";

/** One member a part, opened once. */
export interface FloorState {
  readonly store: Store;
  readonly runs: Runs;
  readonly delegations: DelegationRegister;
  readonly seenTokens: SeenTokens;
}

/** Opens what an earlier process kept. */
export async function openFloorState(store: Store): Promise<FloorState> {
  return {
    store,
    runs: new Runs(),
    delegations: await DelegationRegister.open(store),
    seenTokens: await SeenTokens.open(store),
  };
}
