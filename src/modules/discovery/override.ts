/**
 * An operator's handler in the place of a built-in. It must preserve the documented response, so what
 * it returns is judged like any endpoint's: a fault, answered with 500, where it does not.
 * AGTP-API §5.9
 */

import { judge, type Outcome } from "../../dispatch/judge.ts";
import type { RouteHandler } from "../../dispatch/route.ts";
import type { Handler, HandlerSuccess } from "../../handlers/handler.ts";
import type { CompiledSchema } from "../../schema/schema.ts";

/** The handler, held to a built-in's output schema and kept from the protocol's header fields. */
export function holdToContract(handler: Handler, output: CompiledSchema): RouteHandler {
  const rules = { tier: "B", errors: new Set<string>(), output, concealment: undefined } as const;
  const check = (outcome: Outcome): HandlerSuccess => {
    const judged = judge(rules, outcome);
    if (typeof judged === "string") throw new Error(judged);
    const { status, body, headers, contentType } = judged;
    return { status, body, headers: { ...headers, "Content-Type": contentType } };
  };
  return (call) => {
    const outcome = handler(call);
    return outcome instanceof Promise ? outcome.then(check) : check(outcome);
  };
}
