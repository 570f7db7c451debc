/** What this server keeps of AGNTCY agents through every reload. */
import type { Store } from "../../state/store.ts";
import type { SpokenWords } from "./interrupts/interrupt-desk.ts";
import { RunRegister } from "./runs/run-register.ts";
import { ThreadRegister } from "./runs/thread-register.ts";

/** Opened once. */
export interface AgntcyState {
  readonly runs: RunRegister;
  readonly threads: ThreadRegister;
  /** Answers on their way. */
  readonly words: SpokenWords;
}

/** Opens what an earlier process kept. */
export async function openAgntcy(store: Store): Promise<AgntcyState> {
  const runs = await RunRegister.open(store);
  return { runs, threads: await ThreadRegister.open(store), words: new Map() };
}
