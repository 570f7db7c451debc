/**
 * QUERY /proposals/{proposal_id}: an agent asks what became of a proposal that was taken on with
 * 261. 261 as long as it is being evaluated, then what PROPOSE would have said; 404 for an id that
 * is not this agent's.   AGTP-API §10.6, §11
 */

import { notFound } from "../../../dispatch/refusals/refusal.ts";
import type { ProtocolEndpoint } from "../../../dispatch/routes/protocol-endpoint.ts";
import type { RouteHandler } from "../../../dispatch/routes/route.ts";
import { isStatus } from "../../../wire/message.ts";
import type { PendingProposals } from "./pending-proposals.ts";

/** The path form, and the form with the id in the body. */
export function proposalEndpoints(proposals: PendingProposals): readonly ProtocolEndpoint[] {
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

function pollHandler(proposals: PendingProposals): RouteHandler {
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
