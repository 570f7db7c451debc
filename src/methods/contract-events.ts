/** Events about contracts, in the lifecycle stream of the agent whose they are.   AGTP-API §10.1.4 */
import type { Attributor } from "../attribution/attributor.ts";
import type { ServerState } from "../attribution/state.ts";
import type { ExchangeView } from "../dispatch/route.ts";
import type { Call } from "../handlers/handler.ts";
import { uuidv7 } from "../identity/uuid.ts";
import type { Contract } from "../synthesis/contract.ts";

/** An event in an agent's lifecycle stream, about one of its contracts. */
export interface ContractEvent {
  readonly type: "rcns_release" | "rcns_revoke" | "rcns_propose_accepted";
  readonly contract: Contract;
  readonly reason?: string | undefined;
  /** Who it says that it is; the agent that called is another member. */
  readonly actor?: string | undefined;
  /** Undefined: the server itself. */
  readonly actorAgentId?: string | undefined;
}

/** The request that brought an event about; undefined: the server did it by itself. */
export interface EventSource {
  readonly call: Call;
  readonly exchange: ExchangeView;
}

/** Writes events as the next records of their agents' chains, and answers their Audit-IDs. */
export type RecordEvents = (
  events: readonly ContractEvent[],
  source?: EventSource,
) => Promise<readonly string[]>;

interface EventParts {
  readonly attributor: Attributor;
  readonly state: Pick<ServerState, "ledger" | "lifecycle">;
}

/** Records events, those of one cause together. */
export function recordContractEvents({
  attributor,
  state: { ledger, lifecycle },
}: EventParts): RecordEvents {
  return async (events, source) => {
    const drafts = events.map((event) => attributor.chained(eventFacts(event, source)));
    await ledger.settled();
    await Promise.all(drafts.map((draft) => lifecycle.append(draft)));
    return drafts.map(({ auditId }) => auditId);
  };
}

type RecordFacts = Parameters<Attributor["chained"]>[0];

function eventFacts(event: ContractEvent, source: EventSource | undefined): RecordFacts {
  const { contract } = event;
  return {
    ...(source === undefined ? ownFacts(contract) : requestFacts(source)),
    agentId: contract.agentId,
    ownerId: "",
    actionId: uuidv7(),
    status: 200,
    responseBody: "",
    extension: extensionOf(event),
  };
}

type SourceFacts = Omit<
  RecordFacts,
  "agentId" | "ownerId" | "actionId" | "status" | "responseBody" | "extension"
>;

function requestFacts({ call, exchange }: EventSource): SourceFacts {
  return {
    requestId: call.requestId ?? "",
    responseId: exchange.responseId,
    method: exchange.method,
    requestedMethod: exchange.requestedMethod,
    path: exchange.path,
    sessionId: call.sessionId,
    taskId: call.taskId,
    principalId: call.principalId,
    assurance: exchange.caller.isCertified ? "certificate-bound" : "unverified",
    requestBody: exchange.request.body,
  };
}

/** Nobody asked: the pair is the contract's. */
function ownFacts({ endpoint, sessionId }: Contract): SourceFacts {
  return {
    requestId: "",
    responseId: "",
    method: endpoint.method,
    requestedMethod: undefined,
    path: endpoint.path,
    sessionId,
    taskId: undefined,
    principalId: undefined,
    assurance: "unverified",
    requestBody: "",
  };
}

function extensionOf({ type, contract, reason, actor, actorAgentId }: ContractEvent) {
  return {
    event_type: type,
    synthesis_id: contract.synthesisId,
    contract_hash: contract.contractHash,
    negotiation_origin: contract.origin,
    ...(reason === undefined ? {} : { reason }),
    ...(actor === undefined ? {} : { actor }),
    ...(actorAgentId === undefined ? {} : { actor_agent_id: actorAgentId }),
  };
}
