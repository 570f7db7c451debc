/** The contract that a call is about, and what the call says of who acts. */
import type { Contract } from "../../endpoint/contract.ts";
import type { Call } from "../../handlers/handler.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import { badRequest, notFound, type Refusal } from "../refusals/refusal.ts";
import type { ExchangeView } from "../routes/route.ts";
import type { ContractEvent } from "./contract-events.ts";

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
  return contract ?? notFound("contract-not-found", "no contract with this synthesis_id");
}

/** A member of the input that is a text and not empty. */
export function textOf({ input }: Call, name: string): string | undefined {
  const value = input[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
