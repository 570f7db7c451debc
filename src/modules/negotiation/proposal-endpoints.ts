/** QUERY /proposals/{proposal_id}: what became of a proposal, for who made it.   AGTP-API §10.6 */

import type { ProtocolEndpoint } from "../../dispatch/protocol-endpoint.ts";
import { notFound } from "../../dispatch/refusals/refusal.ts";
import type { RouteHandler } from "../../dispatch/route.ts";
import { isStatus } from "../../wire/status.ts";
import type { Proposals } from "./proposals.ts";

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
