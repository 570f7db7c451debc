/** How many processes answer: `[server] workers`. */
import { availableParallelism } from "node:os";
import type { Config } from "../config/config.ts";

/** One unless it says more; "auto" is one a core. */
export function countWorkers({ server }: Config): number {
  return server.workers === "auto" ? availableParallelism() : server.workers;
}
