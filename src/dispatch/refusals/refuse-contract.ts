/** The 464 of a contract that cannot be had, remembered for INSPECT.   AGTP-API §10.1 */
import type { Attempts } from "../contracts/attempts.ts";
import type { Exchange } from "../exchange.ts";
import { noContract, type Refusal } from "./refusal.ts";
import type { NoContractReason } from "./refusal-code.ts";

/** The state of the four locks. */
export type Locks = Readonly<Record<string, string>>;

/** Keeps the attempt, whose id the refusal names. */
export function refuseContract(
  exchange: Pick<Exchange, "caller" | "method" | "path">,
  attempts: Attempts,
  reason: NoContractReason,
  explanation: string,
  state: Locks = {},
): Refusal {
  const attemptId = attempts.add({
    agent_id: exchange.caller.agentId ?? "",
    method_attempted: exchange.method,
    path_attempted: exchange.path,
    trust_tier: exchange.caller.trustTier ?? null,
    locks: state,
    reason,
    explanation,
  });
  return noContract(reason, explanation, attemptId);
}
