/**
 * Ends contracts whose methods the catalog has no more, when a deployment is served: an agent that
 * presents one is told that it is over, before a step of it has been taken.   AGTP-API §4.5
 */

import type { RecordEvents } from "../../../dispatch/contracts/contract-events.ts";
import type { MethodPolicy } from "../../../dispatch/policy/method-policy.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import type { ContractRegister } from "../../../state/registers/contract-register.ts";

/** The contracts that are ended, and who hears of it. */
interface RemovedMethodsOptions {
  readonly methodPolicy: Pick<MethodPolicy, "isKnown">;
  readonly contracts: Pick<ContractRegister, "open" | "change">;
  readonly record: RecordEvents;
  readonly log: Pick<CallLog, "warn">;
}

/** Revokes the contracts; an event in the stream of each one's agent says why. */
export async function endContractsWithoutMethod({
  methodPolicy,
  contracts,
  record,
  log,
}: RemovedMethodsOptions): Promise<void> {
  const ended = contracts.open().flatMap((contract) => {
    const pairs = [contract.endpoint, ...contract.plan.steps];
    const gone = pairs.find(({ method }) => !methodPolicy.isKnown(method));
    return gone === undefined ? [] : [{ contract, method: gone.method }];
  });
  const changes = ended.map(({ contract: { synthesisId, agentId }, method }) => {
    const reason = `the catalog has no method ${method} any more`;
    log.warn({ event: "contract-revoked", synthesis_id: synthesisId, agent_id: agentId }, reason);
    return contracts.change(synthesisId, "revoked", reason);
  });
  await Promise.all(changes);
  const reason = "catalog-method-removed";
  const events = ended.map(({ contract }) => ({ type: "rcns_release", contract, reason }) as const);
  if (events.length > 0) await record(events);
}
