/** The parts of DELEGATE. */

import type { Background } from "./background.ts";
import type { CallbackPlaces } from "./callback.ts";
import type { TaskTime } from "./deadline.ts";
import type { Hop, HopRules } from "./hop.ts";
import type { Outcome } from "./outcome.ts";
import type { RecentRuns } from "./recent-runs.ts";
import type { DelegationRegister } from "./register.ts";
import type { DelegationRequest } from "./request.ts";

/** A task that is about to be done. */
export interface Performance {
  readonly hop: Hop;
  readonly request: DelegationRequest;
  readonly taskId: string | undefined;
  /** The approval that the request brings for what is done. */
  readonly escalationId: string | undefined;
  readonly time: TaskTime;
}

/** The parts of DELEGATE. */
export interface DelegateOptions {
  readonly rules: HopRules;
  readonly runs: RecentRuns;
  readonly register: DelegationRegister;
  readonly background: Pick<Background, "run" | "signal">;
  readonly callbacks: CallbackPlaces;
  /** Does the task, here or at a peer. */
  perform(performance: Performance): Promise<Outcome>;
}
