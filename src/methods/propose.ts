/**
 * PROPOSE: asks for an endpoint that does not exist. 463 `synthesis-disabled` before anything else
 * is looked at when the policy switches synthesis off.   AGTP-API §8.7, §10
 */
import { notImplemented, proposalRejected } from "../dispatch/refusal.ts";
import type { RouteHandler } from "../dispatch/route.ts";

/** The handler of PROPOSE on "/". */
export function proposeHandler(synthesisEnabled: boolean): RouteHandler {
  return () =>
    synthesisEnabled
      ? notImplemented("synthesis", "this server cannot evaluate proposals")
      : proposalRejected("synthesis-disabled", "this server does not synthesize endpoints");
}
