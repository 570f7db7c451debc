/**
 * The end of a session is the end of what was negotiated for it: its contracts are released, with an
 * event each in the stream of their agent.   AGTP-API §10.8, AGTP "SUSPEND"
 */

import type { RecordEvents } from "../../dispatch/contracts/contract-events.ts";
import type { EventCause } from "../../dispatch/stream-events.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";

/** The contracts that end with a session. */
export interface SessionEndOptions {
  readonly register: Pick<ContractRegister, "open" | "change">;
  readonly record: RecordEvents;
}

/** The session that is over. */
interface EndedSession {
  readonly sessionId: string;
  readonly agentId: string;
}

/** Releases what is not persistent. May be called again for what an earlier call left. */
export async function endSessionContracts(
  { register, record }: SessionEndOptions,
  { sessionId, agentId }: EndedSession,
  reason: "session-expired" | "session-ended",
  source?: EventCause,
): Promise<void> {
  const ended = register
    .open()
    .filter((one) => one.sessionId === sessionId && one.agentId === agentId && !one.isPersistent);
  if (ended.length === 0) return;
  await Promise.all(
    ended.map(({ synthesisId }) => register.change(synthesisId, "released", reason)),
  );
  const events = ended.map((contract) => ({ type: "rcns_release", contract, reason }) as const);
  await record(events, source);
}
