/** Events about contracts, in the lifecycle stream of the agent whose they are.   AGTP-API §10.1.4 */
import type { Attributor } from "../attribution/attributor.ts";
import type { ServerState } from "../attribution/state.ts";
import type { ExchangeView } from "../dispatch/route.ts";
import type { Call } from "../handlers/handler.ts";
import { uuidv7 } from "../identity/uuid.ts";
import type { ContractEvent, ContractMethodsOptions } from "./contracts.ts";

interface EventParts {
  readonly attributor: Attributor;
  readonly state: Pick<ServerState, "ledger" | "lifecycle">;
}

/** Writes an event as the next record of its agent's chain, and answers its Audit-ID. */
export function recordContractEvent({
  attributor,
  state: { ledger, lifecycle },
}: EventParts): ContractMethodsOptions["record"] {
  return async (event, call, exchange) => {
    const draft = attributor.chained(eventFacts(event, call, exchange));
    await ledger.settled();
    await lifecycle.append(draft);
    return draft.auditId;
  };
}

function eventFacts(
  { type, contract, reason, actor }: ContractEvent,
  call: Call,
  exchange: ExchangeView,
): Parameters<Attributor["chained"]>[0] {
  return {
    agentId: contract.agentId,
    ownerId: "",
    requestId: call.requestId ?? "",
    responseId: exchange.responseId,
    actionId: uuidv7(),
    method: exchange.method,
    requestedMethod: exchange.requestedMethod,
    path: exchange.path,
    status: 200,
    sessionId: call.sessionId,
    taskId: call.taskId,
    principalId: call.principalId,
    assurance: exchange.caller.isCertified ? "certificate-bound" : "unverified",
    requestBody: exchange.request.body,
    responseBody: "",
    extension: {
      event_type: type,
      synthesis_id: contract.synthesisId,
      contract_hash: contract.contractHash,
      negotiation_origin: contract.origin,
      ...(reason === undefined ? {} : { reason }),
      ...(actor === undefined ? {} : { actor_agent_id: actor }),
    },
  };
}
