/**
 * Gate 18. Does the call need an approval, and does it present one for this very call? 262
 * `approval-required` if an operator must decide first · 403 `approval-rejected` · 409
 * `approval-mismatch`, `approval-used`, `approval-expired`, `approval-elsewhere` · 422
 * `composition_failed` for a step that needs its own approval. It runs directly before the handler
 * and behind the Idempotency-Key, so that a replay needs no approval, and no operator is asked
 * about a call that is refused anyway.
 */
import type { Approvals } from "../approvals/approvals.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Checks the approval, and leaves the step to take before the handler on the exchange. */
export function approvalGate(approvals: Approvals): Gate {
  /** Routes that can never involve an approval, which are most. */
  const free = new WeakSet<Route>();
  return (exchange) => {
    const { route } = exchange;
    if (route === undefined || free.has(route)) return undefined;
    if (!approvals.mayConcern(route)) {
      free.add(route);
      return undefined;
    }
    const verdict = approvals.check(exchange, route);
    if (verdict === undefined || verdict.kind === "refusal") return verdict;
    exchange.approvalStep = verdict;
    return undefined;
  };
}
