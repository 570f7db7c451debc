/** Opens the state of a daemon with workers: the lock, the store and the journal are its parent's. */
import { relative } from "node:path";
import type { Problem } from "../../base/problem.ts";
import { damageNotice, JournalDamageError } from "../../state/journal/journal-damage.ts";
import { openStore } from "../../state/open-store.ts";
import { type OpenSharedState, openSharedState } from "../../state/sharing/open-shared-state.ts";
import { journalDirectory, takeStateDirectory } from "../../state/state-directory.ts";
import type { StateLock } from "../../state/state-lock.ts";
import { isStoreUnavailable } from "../../state/store-fault.ts";
import type { Config } from "../config/config.ts";
import { damageProblems, journalFault, type StateWatch, storeFault } from "../server-state.ts";

/** The state, or what keeps it from being opened. */
export type ParentStateOpening =
  | { readonly state: OpenSharedState; readonly problems?: undefined }
  | {
      readonly state?: undefined;
      readonly problems: readonly Problem[];
      /** The journal is in the way: it can be looked at all the same. */
      readonly isInspectable?: true;
    };

/** Takes the state directory and opens what is in it. */
export async function openParentState(
  config: Config,
  watch: StateWatch,
): Promise<ParentStateOpening> {
  const { lock, problems } = await takeStateDirectory(config, "agtpd");
  if (problems !== undefined) return { problems };
  let opening: ParentStateOpening | undefined;
  try {
    opening = await openLocked(config, watch, lock);
  } finally {
    if (opening?.state === undefined) lock?.release();
  }
  return opening;
}

async function openLocked(
  config: Config,
  watch: StateWatch,
  lock: StateLock | undefined,
): Promise<ParentStateOpening> {
  const { directory, file, attribution, cluster } = config;
  const { store, problems } = await openStore(config.store, relative(directory, file), (notice) =>
    watch.onNotice(notice),
  );
  if (store === undefined) return { problems };
  try {
    const isKept = config.store.driver !== "memory";
    const state = await openSharedState({
      ...{ store, durability: attribution.durability, leaseMs: cluster.viewLeaseMs, ...watch },
      journalDirectory: isKept ? journalDirectory(directory) : undefined,
    });
    const close = async (): Promise<void> => {
      try {
        await state.close();
      } finally {
        lock?.release();
      }
    };
    return { state: { ...state, close } };
  } catch (error) {
    await store.close().catch(() => undefined);
    if (isStoreUnavailable(error)) return { problems: [storeFault(config, error)] };
    if (!(error instanceof JournalDamageError)) return { problems: [journalFault(config, error)] };
    for (const damage of error.damages) watch.onNotice(damageNotice(damage));
    return { problems: damageProblems(config, error.damages), isInspectable: true };
  }
}
