/**
 * Can the answer be recorded? What an agent of this server asks for is recorded, refusals too, or not
 * looked into.   503 `attribution-unavailable` · AGTP-IDENTIFIERS "Attribution-Record"
 */
import type { Attributor } from "../../state/attributor.ts";
import { attributionUnavailable } from "../refusal.ts";
import type { Gate } from "./gate.ts";

/** Looks at the journal; undefined: responses carry no record. */
export function ledgerGate(attributor: Pick<Attributor, "isWritable"> | undefined): Gate {
  return ({ caller }) => {
    const isRecorded = attributor !== undefined && caller.document !== undefined;
    return isRecorded && !attributor.isWritable ? attributionUnavailable() : undefined;
  };
}
