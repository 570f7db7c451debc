/** The state of AGNTCY agents that is kept through every reload. */
import type { ServerState } from "../../state/state.ts";
import type { Store } from "../../state/store.ts";
import type { ApprovalsUnderWay } from "./interrupts/interrupt-desk.ts";
import { AgentRuns } from "./runs/agent-runs.ts";
import { ThreadRegister } from "./runs/thread-register.ts";

/** Opened once. */
export interface AgntcyState {
  readonly runs: AgentRuns;
  readonly threads: ThreadRegister;
  /** Answers on their way. */
  readonly approvals: ApprovalsUnderWay;
}

/** Opens what an earlier process kept. */
export async function openAgntcy(
  store: Store,
  _: unknown,
  { holders }: Pick<ServerState, "holders">,
): Promise<AgntcyState> {
  const runs = await AgentRuns.open(store, holders);
  return { runs, threads: await ThreadRegister.open(store), approvals: new Map() };
}
