/** Refuses contracts that are not available, and keeps the 464 for INSPECT.   AGTP-API §10.1 */

import { jsonText } from "../../base/json-value.ts";
import { flatText } from "../../base/kept-text.ts";
import type { Contract } from "../../endpoint/contract.ts";
import type { Presented } from "../../state/registers/contract-register.ts";
import type { Attempts } from "../contracts/attempts.ts";
import type { Exchange } from "../exchange.ts";
import { notFound, type Refusal, refusal } from "./refusal.ts";
import type { NoContractReason } from "./refusal-code.ts";

/** The state of the four locks. */
type Locks = Readonly<Record<string, string>>;

const LOCKS = ["rcns-enabled", "allow-rcns", "scope", "trust-tier"] as const;

/** Returns the locks' states if the lock at this index is the first closed one. */
export function locksClosedAt(closed: number): Locks {
  const state = (index: number): string =>
    index === 1 || index < closed ? "open" : index === closed ? "closed" : "unseen";
  return Object.fromEntries(LOCKS.map((lock, index) => [lock, state(index)]));
}

/** The locks' states of an attempt that failed although they are all open. */
export const LOCKS_OPEN: Locks = locksClosedAt(LOCKS.length);

/** 404 never existed or forgotten · 464 ended, or another agent's.   AGTP-API §10.1.4 */
export function refusePresented(
  presented: Exclude<Presented, { readonly kind: "usable" }>,
  exchange: Attempting,
  attempts: Attempts,
): Refusal {
  switch (presented.kind) {
    case "unknown":
      return contractNotFound();
    case "foreign": {
      const explanation = "the contract is another agent's";
      return refuseContract(exchange, attempts, "contract-not-yours", explanation);
    }
    case "over": {
      const explanation = howItEnded(presented.contract);
      return refuseContract(exchange, attempts, "contract-revoked", explanation);
    }
  }
}

/** 404: the contract never existed, or is forgotten. */
export function contractNotFound(): Refusal {
  return notFound("contract-not-found", "no contract with this synthesis_id");
}

function howItEnded({ state, reason }: Contract): string {
  const because = reason === undefined ? "" : `: ${reason}`;
  return `the contract is ${state}${because}`;
}

type Attempting = Pick<Exchange, "caller" | "method" | "path">;

/** Stores the attempt and refuses with its id; a presented contract has no locks. */
export function refuseContract(
  exchange: Attempting,
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

/** 464: no contract is available; INSPECT shows the attempt by its id.   AGTP-API §10.1.2 */
export function noContract(
  reason: NoContractReason,
  explanation: string,
  attemptId: string,
): Refusal {
  const carried = { reason, explanation, attempt_id: attemptId };
  return refusal(464, reason, explanation, {
    carried,
    carriedText: `${reasonText(reason, explanation)},"attempt_id":"${attemptId}"`,
    headers: { "RCNS-Attempt-Id": attemptId },
  });
}

let reasonBefore: readonly [reason: string, explanation: string, text: string] = ["", "", ""];

/** Caches the last text, since consecutive refusals mostly have the same reason. */
function reasonText(reason: string, explanation: string): string {
  if (reasonBefore[0] === reason && reasonBefore[1] === explanation) return reasonBefore[2];
  const text = flatText(`"reason":${jsonText(reason)},"explanation":${jsonText(explanation)}`);
  reasonBefore = [reason, explanation, text];
  return text;
}
