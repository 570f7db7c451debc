/** The step of an approval once its gate has been passed, and its words in the record. */
import type { Refusal } from "../refusals/refusal.ts";
import type { Reply } from "../reply.ts";

/** An approval that a request is about. */
export interface PresentedApproval {
  readonly escalationId: string;
  /** Undefined: there is none of this id, or not for this caller. */
  readonly digest: string | undefined;
  /** A handler was called under it. */
  readonly isUsed: boolean;
}

/** The use or question that has to be kept before the handler may be called. */
export interface ApprovalStep {
  readonly kind: "step";
  /** Resolves to undefined where the handler may be called now. */
  take(): Promise<Refusal | Reply | undefined>;
}
