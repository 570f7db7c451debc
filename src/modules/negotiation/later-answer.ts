/**
 * The answer to a proposal that nobody waits for, under the authority that it was made with: whoever
 * asks for it later gets what PROPOSE would have said, and 500 where that was a fault.
 * AGTP-API §10.6, §11
 */
import { refusalBody, serverError } from "../../dispatch/refusals/refusal.ts";
import type { CallLog } from "../../handlers/handler.ts";
import { compileGrants } from "../../identity/authority-scope.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { ProposalRequest } from "./proposal-request.ts";
import type { ProposalAnswer } from "./proposals.ts";
import { type GrantParts, planAndGrant } from "./propose.ts";

/** Evaluates a proposal that was taken on; never rejects. */
export async function answerLater(
  options: GrantParts,
  request: ProposalRequest,
  log: Pick<CallLog, "warn">,
): Promise<ProposalAnswer> {
  try {
    return await answer(options, request);
  } catch (error) {
    // A caller that asks for the answer must not ask for ever.
    const errorId = uuidv7();
    log.warn({ error, error_id: errorId }, "a proposal could not be evaluated");
    return { status: 500, body: refusalBody(serverError(errorId)) };
  }
}

async function answer(options: GrantParts, request: ProposalRequest): Promise<ProposalAnswer> {
  const { agentId, negotiationId, scopes } = request;
  const outcome = await planAndGrant(options, request, compileGrants(scopes));
  if (!("kind" in outcome)) return { status: outcome.status ?? 200, body: outcome.body };
  if (outcome.status === 463) options.negotiations.reject(agentId, negotiationId);
  const carried = { ...outcome.carried, negotiation_id: negotiationId };
  return { status: outcome.status, body: refusalBody({ ...outcome, carried }) };
}
