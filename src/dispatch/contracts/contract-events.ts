/**
 * Events about contracts, in the lifecycle stream of the agent whose they are; and the contract that a
 * call is about, with its actor.   AGTP-API §10.1.4
 */
import { given } from "../../base/json-value.ts";
import type { Contract } from "../../endpoint/contract.ts";
import type { Call } from "../../handlers/handler.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import { badRequest, type Refusal } from "../refusals/refusal.ts";
import { contractNotFound } from "../refusals/refuse-contract.ts";
import type { ExchangeView } from "../routes/route.ts";
import { type CausingRequest, createStreamRecorder, type EventParts } from "../stream-events.ts";

/** An event in an agent's lifecycle stream, about one of its contracts. */
interface ContractEvent {
  readonly type: "rcns_release" | "rcns_revoke" | "rcns_propose_accepted";
  readonly contract: Contract;
  readonly reason?: string | undefined;
  /** The actor that the request names; the agent that called is another member. */
  readonly actor?: string | undefined;
  /** Undefined: the server itself. */
  readonly actorAgentId?: string | undefined;
}

/** Writes events as the next records of their agents' chains, and answers their Audit-IDs. */
export type RecordEvents = (
  events: readonly ContractEvent[],
  cause?: CausingRequest,
) => Promise<readonly string[]>;

/** Records events, those of one cause together. */
export function createContractRecorder(parts: EventParts): RecordEvents {
  const record = createStreamRecorder(parts);
  return (events, cause) => {
    const written = events.map((event) => {
      const { agentId, endpoint, sessionId } = event.contract;
      const { method, path } = endpoint;
      return { agentId, extension: extensionOf(event), about: { method, path, sessionId } };
    });
    return record(written, cause);
  };
}

/** Records that the agent of a contract agreed to it. */
export function recordAccepted(
  record: RecordEvents,
  contract: Contract,
  cause: CausingRequest | undefined,
): Promise<readonly string[]> {
  const event = {
    type: "rcns_propose_accepted",
    contract,
    actorAgentId: contract.agentId,
  } as const;
  return record([event], cause);
}

function extensionOf({ type, contract, reason, actor, actorAgentId }: ContractEvent) {
  return {
    event_type: type,
    synthesis_id: contract.synthesisId,
    contract_hash: contract.contractHash,
    negotiation_origin: contract.origin,
    ...given({ reason, actor, actor_agent_id: actorAgentId }),
  };
}

/** The principal of the call, and the agent that made it. */
export function actorOf(
  call: Call,
  { caller }: ExchangeView,
): Pick<ContractEvent, "actor" | "actorAgentId"> {
  return { actor: textOf(call, "actor"), actorAgentId: caller.agentId };
}

/** The contract that a call names, or what to answer instead. */
export function contractOf(
  { register }: { readonly register: Pick<ContractRegister, "find"> },
  call: Call,
): Contract | Refusal {
  const synthesisId = textOf(call, "synthesis_id");
  if (synthesisId === undefined) {
    const message = "synthesis_id is required";
    return badRequest("missing-synthesis-id", message, { parameter: "synthesis_id" });
  }
  const contract = register.find(synthesisId);
  return contract ?? contractNotFound();
}

/** A member of the input that is a text and not empty. */
export function textOf({ input }: Call, name: string): string | undefined {
  const value = input[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
