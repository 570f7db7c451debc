/**
 * Gate 15. May the caller continue the task that the request names? Not while the task waits for a
 * decision. Exempt are the methods that ask for, make or read the decision, and those by which an
 * agent pauses in good order. 409 `task-paused` with the escalation.   AGTP "ESCALATE"
 */
import { FLOOR_GROUPS } from "../../catalog/catalog.ts";
import type { CallerState } from "../caller/caller-state.ts";
import { taskPaused } from "../refusals/task-refusals.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** The protocol's own methods that a paused task may use. */
const EXEMPT: ReadonlySet<string> = new Set([
  ...["ESCALATE", "CONFIRM", "INSPECT", "SUSPEND", "RESUME"],
  ...FLOOR_GROUPS.lifecycle,
]);

/** The path of escalations, where a paused task may read its decision. */
const ESCALATIONS = "/escalations";

/** Checks the task, whether header or body named it. */
export function taskGate({ escalations }: Pick<CallerState, "escalations">): Gate {
  return ({ route, caller, taskId }) => {
    if (route === undefined || taskId === undefined || caller.agentId === undefined)
      return undefined;
    const pause = escalations.pauseOf(caller.agentId, taskId);
    return pause === undefined || isExempt(route) ? undefined : taskPaused(pause);
  };
}

function isExempt({ tier, method, path }: Route): boolean {
  return tier === "A" && (EXEMPT.has(method) || path.startsWith(ESCALATIONS));
}
