/** What this server keeps of AGNTCY agents through every reload. */
import type { Store } from "../../store/store.ts";
import { RunRegister } from "./runs/run-register.ts";
import { ThreadRegister } from "./runs/thread-register.ts";

/** Opened once. */
export interface AgntcyState {
  readonly runs: RunRegister;
  readonly threads: ThreadRegister;
}

/** Opens what an earlier process kept. */
export async function openAgntcy(store: Store): Promise<AgntcyState> {
  return { runs: await RunRegister.open(store), threads: await ThreadRegister.open(store) };
}
