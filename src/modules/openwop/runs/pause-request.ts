/** A request that a run stops for a while.   OpenWOP "rest-endpoints" §pause */
import type { EventDraft } from "./run-event.ts";

/** Pausing at once, or behind the node that is executed. */
export const DRAIN_POLICIES = ["drain-current-node", "immediate"] as const;

/** A way to pause a run. */
type DrainPolicy = (typeof DRAIN_POLICIES)[number];

/** The request, and whose it is. */
export interface PauseRequest {
  readonly drainPolicy: DrainPolicy;
  readonly reason?: string;
  readonly by: string;
}

/** The run is paused. */
export function runPaused({ reason, drainPolicy, by: pausedBy }: PauseRequest): EventDraft {
  const why = reason === undefined ? {} : { reason };
  return { type: "run.paused", payload: { ...why, drainPolicy, pausedBy } };
}
