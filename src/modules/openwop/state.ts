/** The state of OpenWOP runs and their HTTP API across reloads. */
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

/** The runs, and the state of their HTTP API. */
export interface OpenwopState {
  readonly register: WorkflowRuns;
  readonly idempotency: Idempotency;
  readonly tokens: InterruptTokens;
  readonly audience: Audience;
  readonly authority: RunAuthority;
  /** The rate limits of tool calls, shared by AGTP and HTTP. */
  readonly toolRates: ToolRates;
  readonly effects: EffectLedger;
}

/** Opens the stored state. */
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
