/**
 * The place of the run starter, which comes to be after the agents whose turns its runs take. Until
 * somebody is there, dispatching is refused.
 */
import type { RunStarter } from "./run-starter.ts";

/** A starter that hands on to the one it is given. */
export interface RunStarterSlot extends RunStarter {
  use(starter: RunStarter): void;
}

/** An empty place. */
export function createRunStarterSlot(): RunStarterSlot {
  let current: RunStarter | undefined;
  return {
    use: (starter) => {
      current = starter;
    },
    start: async (request) => {
      if (current !== undefined) return current.start(request);
      const message = "this server keeps no runs";
      return { kind: "refused", error: { code: "capability_not_provided", message } };
    },
  };
}
