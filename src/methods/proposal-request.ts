/** A proposal whose form is right, on its way to an answer: now, or when there is time for it. */
import type { CheckedProposal } from "./proposal-evaluation.ts";

/** A proposal on its way to an answer. */
export interface ProposalRequest {
  readonly agentId: string;
  readonly sessionId: string | undefined;
  readonly negotiationId: string;
  /** The authority that it was proposed under. */
  readonly scopes: readonly string[];
  readonly proposal: CheckedProposal;
}
