/**
 * Events about contracts, in the lifecycle stream of the contract's agent; also finds the contract
 * and the actor that a call names.   AGTP-API §10.1.4
 */
import { given } from "../../base/json-value.ts";
import type { Contract } from "../../endpoint/contract.ts";
import type { Call } from "../../handlers/handler.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import { badRequest, type Refusal } from "../refusals/refusal.ts";
import { contractNotFound } from "../refusals/refuse-contract.ts";
import type { ExchangeView } from "../routes/route.ts";
import { type CausingRequest, createStreamRecorder, type EventParts } from "../stream-events.ts";

/** An event in an agent's lifecycle stream about one of its contracts. */
interface ContractEvent {
  readonly type: "rcns_release" | "rcns_revoke" | "rcns_propose_accepted";
  readonly contract: Contract;
  readonly reason?: string | undefined;
  /** The actor that the request names; the calling agent is a separate member. */
  readonly actor?: string | undefined;
  /** The agent that acted; undefined for the server itself. */
  readonly actorAgentId?: string | undefined;
}

/** Writes events as the next records of their agents' chains, and returns their Audit-IDs. */
export type RecordEvents = (
  events: readonly ContractEvent[],
  cause?: CausingRequest,
) => Promise<readonly string[]>;

/** Creates a recorder that writes the events of one cause together. */
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

/** Returns the actor that the call names, and the agent that made the call. */
export function actorOf(
  call: Call,
  { caller }: ExchangeView,
): Pick<ContractEvent, "actor" | "actorAgentId"> {
  return { actor: textOf(call, "actor"), actorAgentId: caller.agentId };
}

/** Returns the contract that a call names, or a refusal. */
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

/** Returns a member of the input if it is a non-empty text. */
export function textOf({ input }: Call, name: string): string | undefined {
  const value = input[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
