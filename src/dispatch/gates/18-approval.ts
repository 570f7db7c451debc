/**
 * Gate 18. Does the call need an approval, and does it bring one that is for this call?
 * 262 `approval-required` where an operator has to decide first · 403 `approval-rejected` · 409
 * `approval-mismatch`, `approval-used`, `approval-expired`, `approval-elsewhere` · 422 `composition_failed` for a step that would
 * need one of its own. Asked directly before the handler and behind an Idempotency-Key: what is answered
 * already is answered again, and what is refused otherwise is put before nobody.
 */
import type { Approvals } from "../approvals/approvals.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Looks for the approval; what has to be kept before the handler is called is left to the exchange. */
export function approvalGate(approvals: Approvals): Gate {
  /** Endpoints that no approval is ever about; most are. */
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
