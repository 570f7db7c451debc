/** Contracts that were negotiated at run time, and their end by an operator. */
import type { Contract } from "../../../endpoint/contract.ts";
import type { ServerState } from "../../../state/state.ts";
import { type ApiRoute, reasonIn, textIn } from "../console-api.ts";
import { unknown } from "../console-fault.ts";

/** `/api/contracts` and `/api/contracts/{synthesis_id}` */
export function contractRoutes({ contracts }: Pick<ServerState, "contracts">): readonly ApiRoute[] {
  return [
    {
      method: "GET",
      path: "/contracts",
      answer: () => ({ contracts: contracts.open().map(viewOf) }),
    },
    {
      method: "POST",
      path: "/contracts/:id",
      answer: async ({ params, body, act }) => {
        textIn(body, "action", ["withdraw"]);
        const contract = contracts.find(params["id"] ?? "");
        if (contract === undefined) throw unknown("contract");
        const named = { target: "contract", synthesis_id: contract.synthesisId };
        return act("REVOKE", "/", { ...named, ...reasonIn(body) });
      },
    },
  ];
}

function viewOf({ synthesisId, agentId, endpoint, state, issuedAt, expiresAt }: Contract): object {
  return {
    ...{ synthesis_id: synthesisId, agent_id: agentId, status: state },
    ...{ method: endpoint.method, path: endpoint.path, description: endpoint.description },
    created_at: new Date(issuedAt).toISOString(),
    expires_at: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
  };
}
