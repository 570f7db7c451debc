/** A server on which every agent stands where its document says, and nothing was revoked. */
import type { CallerState } from "../../src/dispatch/caller/caller-state.ts";

/** The state of callers for tests of one gate. */
export function makeStanding(changes: Partial<CallerState> = {}): CallerState {
  return {
    lifecycle: { statusOf: ({ status }) => status, statusSince: () => undefined },
    certificates: { isRevoked: () => false },
    sessions: { isOpenTo: () => true, admit: () => true },
    suspensions: { holdOf: () => undefined },
    escalations: { pauseOf: () => undefined },
    ...changes,
  };
}
