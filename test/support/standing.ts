/** A server on which every agent stands where its document says, and nothing was revoked. */
import type { Standing } from "../../src/dispatch/standing.ts";

/** Standing for tests of one gate. */
export function makeStanding(changes: Partial<Standing> = {}): Standing {
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
