/**
 * SUSPEND of a contract: its owner needs it no longer.
 * 400 malformed · 403 somebody else's · 404 no such contract.   AGTP-API §10.1.4
 */
import type { RecordEvents } from "../../dispatch/contracts/contract-events.ts";
import { actorOf, contractOf, textOf } from "../../dispatch/contracts/named-contract.ts";
import { floorResult } from "../../dispatch/floor-result.ts";
import { forbidden, type Refusal } from "../../dispatch/refusals/refusal.ts";
import type { ExchangeView } from "../../dispatch/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import { type ContractRegister, isOpen } from "../../state/registers/contract-register.ts";

/** The parts that a release works on. */
export interface ReleaseOptions {
  readonly register: Pick<ContractRegister, "find" | "change">;
  readonly record: RecordEvents;
}

/** SUSPEND `{synthesis_id}`: the owner needs the contract no longer. */
export async function releaseContract(
  options: ReleaseOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const contract = contractOf(options, call);
  if ("kind" in contract) return contract;
  if (contract.agentId !== exchange.caller.agentId) {
    return forbidden("contract-forbidden", "only its own agent may release a contract");
  }
  const { state, synthesisId } = contract;
  if (!isOpen(contract)) {
    return floorResult(call, { synthesis_id: synthesisId, status: state, noop: true });
  }
  const reason = textOf(call, "reason") ?? "caller-release";
  await options.register.change(synthesisId, "released", reason);
  const event = { type: "rcns_release", contract, reason, ...actorOf(call, exchange) } as const;
  const [auditId] = await options.record([event], { call, exchange });
  const result = { synthesis_id: synthesisId, status: "released", event_type: "rcns_release" };
  return floorResult(call, { ...result, audit_id: auditId });
}
