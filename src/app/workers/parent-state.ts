/** Opens the state of a daemon with workers: the lock, the store and the journal are its parent's. */
import { type OpenSharedState, openSharedState } from "../../state/sharing/open-shared-state.ts";
import type { Config } from "../config/config.ts";
import {
  inStateDirectory,
  overStore,
  type StateOpening,
  type StateWatch,
} from "../server-state.ts";

/** Takes the state directory and opens what is in it. */
export function openParentState(
  config: Config,
  watch: StateWatch,
): Promise<StateOpening<OpenSharedState>> {
  const { attribution, cluster } = config;
  return inStateDirectory(config, (lock) =>
    overStore(config, watch, async (store, journal) => {
      const state = await openSharedState({
        ...{ store, durability: attribution.durability, leaseMs: cluster.viewLeaseMs, ...watch },
        journalDirectory: journal,
      });
      const close = async (): Promise<void> => {
        try {
          await state.close();
        } finally {
          lock?.release();
        }
      };
      return { opened: { ...state, close } };
    }),
  );
}
