/**
 * Evaluates proposals that were taken on with 261, under the authority that they were made with:
 * what PROPOSE would have said, and 500 where that was a fault.   AGTP-API §10.6, §11
 */

import { type Refusal, refusalBody, serverError } from "../../../dispatch/refusals/refusal.ts";
import type { CallLog, HandlerSuccess } from "../../../handlers/handler.ts";
import { compileGrants } from "../../../identity/authority-scope.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { grantContract } from "../contracts/grant-contract.ts";
import type { ProposalAnswer } from "./pending-proposals.ts";
import type { EvaluationParts } from "./propose.ts";
import type { SubmittedProposal } from "./submitted-proposal.ts";
import { synthesizeInTurn } from "./synthesize-proposal.ts";

/** Answers a pending proposal; never rejects. */
export async function evaluatePending(
  parts: EvaluationParts,
  submitted: SubmittedProposal,
  log: Pick<CallLog, "warn">,
): Promise<ProposalAnswer> {
  try {
    return await answer(parts, submitted);
  } catch (error) {
    // A caller that asks for the answer must not ask for ever.
    const errorId = uuidv7();
    log.warn({ error, error_id: errorId }, "a proposal could not be evaluated");
    return { status: 500, body: refusalBody(serverError(errorId)) };
  }
}

async function answer(
  parts: EvaluationParts,
  submitted: SubmittedProposal,
): Promise<ProposalAnswer> {
  const { agentId, negotiationId } = submitted;
  const outcome = await synthesizeAndGrant(parts, submitted);
  if (!("kind" in outcome)) return { status: outcome.status ?? 200, body: outcome.body };
  if (outcome.status === 463) parts.turns.reject(agentId, negotiationId);
  const carried = { ...outcome.carried, negotiation_id: negotiationId };
  return { status: outcome.status, body: refusalBody({ ...outcome, carried }) };
}

async function synthesizeAndGrant(
  parts: EvaluationParts,
  submitted: SubmittedProposal,
): Promise<HandlerSuccess | Refusal> {
  const { agentId, scopes, proposal } = submitted;
  // Only agents that this server knows have their proposals taken on.
  const owner = { key: agentId, isKnown: true };
  const planned = await synthesizeInTurn(parts, proposal, {
    authority: compileGrants(scopes),
    owner,
  });
  if (planned.kind === "refusal") return planned;
  return grantContract(parts, submitted, planned.plan, undefined);
}
