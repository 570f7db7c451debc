/** A server on which every agent stands where its document says, and nothing was revoked. */
import type { CallerState } from "../../src/dispatch/caller/caller-state.ts";

/** The state of callers for tests of one gate. */
export function makeStanding(changes: Partial<CallerState> = {}): CallerState {
  return {
    statusOf: ({ status }) => status,
    statusSince: () => undefined,
    isRevoked: () => false,
    admitSession: () => true,
    holdOf: () => undefined,
    pauseOf: () => undefined,
    ...changes,
  };
}
