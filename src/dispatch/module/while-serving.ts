/** The pace of the server's own work while it serves: in turns with everybody else's. */
import type { Drive } from "../../base/paced.ts";
import { THE_SERVER } from "../../base/task-queue.ts";
import type { ProcessState } from "../process-state.ts";

/** Work that somebody waits for is finished even while the server stops. */
const NEVER = new AbortController().signal;

/** Drives it in the queue of all that takes long. */
export function whileServing({ work }: Pick<ProcessState, "work">): Drive {
  return (steps) => work.pace(steps, THE_SERVER, NEVER);
}
