/** Why a run is not executed any further. */
export type RunStop =
  | {
      readonly kind: "cancelled";
      readonly reason?: string;
      readonly by: string;
      /** The run that was cancelled, and took this one with it. */
      readonly parentRunId?: string;
    }
  | { readonly kind: "timeout"; readonly limitMs: number }
  /** The log says who has paused it. */
  | { readonly kind: "paused" }
  /** Another node executes it. */
  | { readonly kind: "taken" };
