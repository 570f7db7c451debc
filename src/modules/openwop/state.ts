/** The state of OpenWOP runs and of their HTTP API, kept through every reload. */
import type { ForwardClock } from "../../base/forward-clock.ts";
import type { KeptParts } from "../../dispatch/process-state.ts";
import type { Store } from "../../state/store.ts";
import { Audience } from "./http/api-keys.ts";
import { Idempotency } from "./http/idempotency.ts";
import { InterruptTokens } from "./http/interrupt-token.ts";
import { EffectLedger } from "./nodes/conformance-nodes.ts";
import { RunAuthority } from "./run-authority.ts";
import { openWorkflowRuns, type WorkflowRuns } from "./runs/workflow-runs.ts";
import { ToolRates } from "./turn/tool-rates.ts";

/** Runs, and what their HTTP API remembers. */
export interface OpenwopState {
  readonly register: WorkflowRuns;
  readonly idempotency: Idempotency;
  readonly tokens: InterruptTokens;
  readonly audience: Audience;
  readonly authority: RunAuthority;
  /** Counts the calls of tools, over AGTP and HTTP alike. */
  readonly toolRates: ToolRates;
  readonly effects: EffectLedger;
}

/** Opens what an earlier process kept. */
export async function openOpenwop(
  store: Store,
  { now }: Pick<ForwardClock, "now">,
  { holders, minuteRates }: Pick<KeptParts, "holders" | "minuteRates">,
): Promise<OpenwopState> {
  return {
    register: await openWorkflowRuns(store, { holders }),
    idempotency: await Idempotency.open(store),
    tokens: await InterruptTokens.open(store, now),
    audience: new Audience(),
    authority: new RunAuthority(now),
    toolRates: new ToolRates(minuteRates),
    effects: new EffectLedger(store),
  };
}
