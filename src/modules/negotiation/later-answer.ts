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
import { type SettleOptions, settle } from "./propose.ts";

/** Evaluates a proposal that was taken on; never rejects. */
export async function answerLater(
  options: SettleOptions,
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

async function answer(options: SettleOptions, request: ProposalRequest): Promise<ProposalAnswer> {
  const { agentId, negotiationId, scopes } = request;
  const settled = await settle(options, request, compileGrants(scopes));
  if (!("kind" in settled)) return { status: settled.status ?? 200, body: settled.body };
  if (settled.status === 463) options.negotiations.reject(agentId, negotiationId);
  const carried = { ...settled.carried, negotiation_id: negotiationId };
  return { status: settled.status, body: refusalBody({ ...settled, carried }) };
}
