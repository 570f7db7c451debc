/** The state of a worker: registers of its own over the store and the records of its parent. */
import type { Link } from "../../base/link.ts";
import { createProcessState } from "../../dispatch/process-state.ts";
import { ParentNode } from "../../state/sharing/parent-node.ts";
import { ParentRecords } from "../../state/sharing/parent-records.ts";
import { ParentStore } from "../../state/sharing/parent-store.ts";
import type { Joined } from "../../state/sharing/shared-state.ts";
import { openState } from "../../state/state.ts";
import type { Config } from "../config/config.ts";
import type { StateOpening, StateWatch } from "../server-state.ts";
import { shareRates } from "./shared-rates.ts";

/** Joins the other workers. */
export async function openWorkerState(
  link: Link,
  { policies }: Config,
  watch: StateWatch,
): Promise<StateOpening> {
  const joined = await link.ask<Joined>("join");
  const store = new ParentStore(link);
  const view = new ParentNode({ link, store, joined });
  const records = new ParentRecords(link, () => view.checkLease());
  const heads = new Map(joined.heads);
  const state = await openState({
    ...{ store, view, shared: { records, heads, events: joined.events }, ...watch },
    journalDirectory: undefined,
    tombstoneMs: policies.rcns.contractTtlSeconds * 1000,
  });
  link.serve({
    save: async () => {
      await state.sessions.save();
      await state.lifecycle.save();
    },
  });
  await view.start();
  const close = async (): Promise<void> => {
    await state.ledger.settled().catch(() => undefined);
    await view.close();
    await state.close();
  };
  const kept = createProcessState({ ...state, close });
  shareRates(link, kept);
  return { opened: kept };
}
