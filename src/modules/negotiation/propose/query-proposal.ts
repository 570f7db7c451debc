/**
 * Proposals that were taken on, and that nobody waits for: evaluated when there is time, and asked
 * for by QUERY /proposals/{proposal_id}.   AGTP-API §10.6, §11
 */

import { notFound, refusalBody, serverError } from "../../../dispatch/refusals/refusal.ts";
import type { ProtocolEndpoint } from "../../../dispatch/routes/protocol-endpoint.ts";
import type { RouteHandler } from "../../../dispatch/routes/route.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import { compileGrants } from "../../../identity/authority-scope.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { isStatus } from "../../../wire/status.ts";
import type { ProposalAnswer, Proposals } from "./pending-proposals.ts";
import { type GrantParts, planAndGrant } from "./propose.ts";
import type { ProposalRequest } from "./submitted-proposal.ts";

/** The path form, and the form with the id in the body. */
export function proposalEndpoints(proposals: Proposals): readonly ProtocolEndpoint[] {
  return ["/proposals/{proposal_id}", "/proposals"].map((path) => ({
    method: "QUERY",
    path,
    description: "Returns what became of a proposal, to the agent that made it.",
    capability: "retrieval",
    impact: "informational",
    isReading: true,
    inputSchema: {
      type: "object",
      required: ["proposal_id"],
      properties: { proposal_id: { type: "string", minLength: 1, maxLength: 128 } },
    },
    isListed: false,
    looksUp: ["proposal_id"],
    handler: pollHandler(proposals),
  }));
}

function pollHandler(proposals: Proposals): RouteHandler {
  return ({ input, agentId }) => {
    const answer = proposals.find(String(input["proposal_id"]), agentId ?? "");
    if (answer === undefined) {
      return notFound("proposal-not-found", "this agent has no proposal with this id");
    }
    const { status, body } = answer;
    if (!isStatus(status)) throw new Error(`a proposal came to status ${status}`);
    return { status, body };
  };
}

/**
 * Answers a proposal that was taken on, under the authority that it was made with: what PROPOSE
 * would have said, and 500 where that was a fault; never rejects.   AGTP-API §10.6, §11
 */
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
