/**
 * Repeats a lookup that misses on one of several nodes, since the thing may just have been created
 * on another. Once this node has applied everything committed by then, the handler is called again.
 * If it cannot catch up, the answer is not 404 but 503 `store-unavailable`. Only known callers with
 * complete names cause this; a handler that answers 404 must have had no effect.
 */
import type { ViewLease } from "../../state/state.ts";
import type { ExchangeView, RouteHandler } from "./route.ts";

/** The form of the names that this server makes: ids, nonces, digests. */
const WHOLE = /^[\w.:-]{16,256}$/;

/** Wraps a handler so that a miss is looked up again; returns it unchanged if there are no other nodes. */
export function withSecondLook(
  handler: RouteHandler,
  members: readonly string[],
  view: Pick<ViewLease, "catchUp">,
): RouteHandler {
  if (view.catchUp === undefined || members.length === 0) return handler;
  return (call, exchange) => {
    const names = isKnown(exchange) ? members.map((member) => call.input[member]) : [];
    return lookTwice(() => handler(call, exchange), names, view);
  };
}

/** Asks again after a miss if one of the names is complete. */
export async function lookTwice<Answer extends object>(
  ask: () => Answer | Promise<Answer>,
  names: readonly unknown[],
  view: Pick<ViewLease, "catchUp">,
): Promise<Answer> {
  const answer = await ask();
  if (!("status" in answer) || answer.status !== 404 || !names.some(isWholeName)) return answer;
  if (view.catchUp === undefined) return answer;
  await view.catchUp();
  return ask();
}

/** Tells whether the caller is known; unknown ones must not cause work for the store. */
function isKnown({ caller, peer }: ExchangeView): boolean {
  return caller.document !== undefined || peer.certificate !== undefined;
}

/** Tells whether a name has the form of those that this server makes. */
export function isWholeName(name: unknown): boolean {
  return typeof name === "string" && WHOLE.test(name);
}
