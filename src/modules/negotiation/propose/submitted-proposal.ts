/** A proposal whose form is right, on its way to an answer: now, or when there is time for it. */
import type { Proposal } from "../../../endpoint/synthesis-plan.ts";
import type { RawProposal } from "./read-proposal.ts";

/** A proposal whose parts are as they should be. */
export interface CheckedProposal extends Omit<Proposal, "method" | "path"> {
  readonly raw: RawProposal;
}

/** A proposal on its way to an answer. */
export interface SubmittedProposal {
  readonly agentId: string;
  readonly sessionId: string | undefined;
  readonly negotiationId: string;
  /** The authority that it was proposed under. */
  readonly scopes: readonly string[];
  readonly proposal: CheckedProposal;
}
