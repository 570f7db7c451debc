/**
 * Tells whether a request may go on with the task that it names: not while the task waits for a
 * decision. 409 `task-paused` with the escalation. What asks for the decision, brings it, or learns
 * of it is answered, and so is what an agent does to wait in good order.   AGTP "ESCALATE"
 */
import type { Exchange } from "./exchange.ts";
import type { Refusal } from "./refusals/refusal.ts";
import { type TaskPause, taskPaused } from "./refusals/task-refusals.ts";
import type { Route } from "./routes/route.ts";

/** The tasks that wait. */
export interface TaskStanding {
  /** Undefined: the task may go on. */
  pauseOf(agentId: string, taskId: string): TaskPause | undefined;
}

/** The protocol's own methods that a task which waits may use. */
const EXEMPT: ReadonlySet<string> = new Set([
  ...["ESCALATE", "CONFIRM", "INSPECT", "SUSPEND", "RESUME"],
  ...["ACTIVATE", "DEACTIVATE", "REINSTATE", "REVOKE", "DEPRECATE"],
]);

/** The request by which the decision can be asked for. */
const ESCALATIONS = "/escalations";

/** Why the task may not go on with this route; undefined: it may. */
export function refuseTask(
  { caller, taskId }: Exchange,
  { tier, method, path }: Route,
  standing: TaskStanding,
): Refusal | undefined {
  if (taskId === undefined || caller.agentId === undefined) return undefined;
  const pause = standing.pauseOf(caller.agentId, taskId);
  if (pause === undefined) return undefined;
  const isExempt = EXEMPT.has(method) || path.startsWith(ESCALATIONS);
  return tier === "A" && isExempt ? undefined : taskPaused(pause);
}
