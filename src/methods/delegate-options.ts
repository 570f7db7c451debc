/** What DELEGATE works with. */
import type { Background } from "../delegation/background.ts";
import type { CallbackPlaces } from "../delegation/callback.ts";
import type { TaskTime } from "../delegation/deadline.ts";
import type { Hop, HopRules } from "../delegation/hop.ts";
import type { Outcome } from "../delegation/outcome.ts";
import type { DelegationRegister } from "../delegation/register.ts";
import type { DelegationRequest } from "../delegation/request.ts";
import type { Runs } from "../execution/runs.ts";

/** A task that is about to be done. */
export interface Performance {
  readonly hop: Hop;
  readonly request: DelegationRequest;
  readonly taskId: string | undefined;
  readonly time: TaskTime;
}

/** The parts of DELEGATE. */
export interface DelegateOptions {
  readonly rules: HopRules;
  readonly runs: Runs;
  readonly register: DelegationRegister;
  readonly background: Pick<Background, "run" | "signal">;
  readonly callbacks: CallbackPlaces;
  /** Has the task done, here or at a peer. */
  perform(performance: Performance): Promise<Outcome>;
}
