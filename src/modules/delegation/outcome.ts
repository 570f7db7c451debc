/** The outcome of a delegated task: its result, or the refusal that says why there is none. */
import type { PriorAction } from "../../dispatch/caller/delegation.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import type { Status } from "../../wire/status.ts";

/** Either of the two, with what was done on the way. */
export type Outcome =
  | {
      readonly kind: "completed";
      /** The task's own. */
      readonly status: Status;
      readonly result: unknown;
      readonly priorActions: readonly PriorAction[];
      readonly peer?: PeerEvidence;
    }
  | {
      readonly kind: "failed";
      readonly refusal: Refusal;
      readonly priorActions: readonly PriorAction[];
    };

/** The proof of what a peer says it did. */
interface PeerEvidence {
  readonly name: string;
  readonly server_id: string;
  readonly audit_id: string;
  readonly attribution_record: string;
}

/** A task that came to nothing. */
export function failed(refusal: Refusal, priorActions: readonly PriorAction[] = []): Outcome {
  return { kind: "failed", refusal, priorActions };
}
