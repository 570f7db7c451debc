/**
 * The last step before a handler: its approval, where the call needs one. What has to be kept for it
 * is in the store before the handler is called, and nothing is called where it cannot be kept.
 */

import { concealRefusal } from "../concealment.ts";
import type { Exchange } from "../exchange.ts";
import type { Gate } from "../gates/gate.ts";
import type { Refusal } from "../refusals/refusal.ts";
import { type Reply, replyToRefusal } from "../reply.ts";
import type { Route } from "../routes/route.ts";
import { type Finish, faultReply, type InvokeServices, invoke } from "./invoke.ts";

/** Answers a request that has passed all gates before; synchronous where nothing has to wait. */
export type CallHandler = <T>(
  exchange: Exchange,
  route: Route,
  finish: Finish<T>,
) => T | Promise<T>;

/** Calls handlers behind a gate. */
export function createCallHandler(gate: Gate, services: InvokeServices): CallHandler {
  return (exchange, route, finish) => {
    const refuse = (refusal: Refusal) => finish(replyToRefusal(concealRefusal(refusal, route)));
    const refusal = gate(exchange);
    if (refusal !== undefined) return refuse(refusal);
    const { approvalStep } = exchange;
    if (approvalStep === undefined) return invoke(exchange, route, services, finish);
    return approvalStep.take().then(
      (answered) => {
        if (answered === undefined) return invoke(exchange, route, services, finish);
        if (!isRefusal(answered)) return finish(answered);
        exchange.refusedBy = "approval";
        return refuse(answered);
      },
      (cause: unknown) =>
        finish(faultReply(exchange, services, "an approval cannot be kept", cause)),
    );
  };
}

function isRefusal(answered: Refusal | Reply): answered is Refusal {
  return "kind" in answered;
}
