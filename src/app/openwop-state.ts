/** What the runs of OpenWOP workflows and agents keep while a daemon runs, through every reload. */
import { Audience } from "../modules/openwop/face/audience.ts";
import type { FaceState } from "../modules/openwop/face/face-route.ts";
import { Idempotency } from "../modules/openwop/face/idempotency.ts";
import { InterruptTokens } from "../modules/openwop/face/interrupt-token.ts";
import { EffectLedger } from "../modules/openwop/runs/effect-ledger.ts";
import { RunRegister } from "../modules/openwop/runs/run-register.ts";
import { ToolRates } from "../modules/openwop/turn/tool-rates.ts";
import type { Store } from "../state/store.ts";

/** Runs, and what their HTTP face remembers. */
export interface OpenwopState {
  readonly register: RunRegister;
  readonly face: FaceState;
}

/** Opens what an earlier process kept. */
export async function openOpenwop(store: Store): Promise<OpenwopState> {
  return {
    register: await RunRegister.open(store),
    face: {
      idempotency: await Idempotency.open(store),
      tokens: await InterruptTokens.open(store),
      audience: new Audience(),
      toolRates: new ToolRates(),
      effects: new EffectLedger(store),
    },
  };
}
