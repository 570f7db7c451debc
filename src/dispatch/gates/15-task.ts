/**
 * May the caller go on with the task that the request names?
 * 409 a task that waits for a decision.   AGTP "ESCALATE"
 */
import { refuseTask, type TaskStanding } from "../task-pause.ts";
import type { Gate } from "./gate.ts";

/** Looks at tasks of header and body alike. */
export function taskGate(standing: TaskStanding): Gate {
  return (exchange) => exchange.route && refuseTask(exchange, exchange.route, standing);
}
