/**
 * A look-up that misses, on one of several nodes: what is asked for may have been made on another a
 * moment ago. Once this node has taken in what was committed by then, the same handler is asked again.
 * Where that cannot be known, nobody is told that there is nothing: 503 `store-unavailable`. Only callers
 * that this server knows have the store asked, and only about names that are whole; a handler that says
 * 404 has done nothing.
 */
import type { ViewLease } from "../../state/state.ts";
import type { ExchangeView, RouteHandler } from "./route.ts";

/** As what this server makes is named: ids, nonces, digests. */
const WHOLE = /^[\w.:-]{16,256}$/;

/** The handler, asked once more after a miss; the same one where there are no other nodes. */
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

/** Asks once more after a miss, where one of the names that were looked up is whole. */
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

/** A stranger does not make the store work. */
function isKnown({ caller, peer }: ExchangeView): boolean {
  return caller.document !== undefined || peer.certificate !== undefined;
}

/** Tells whether this is how something that this server makes may be named. */
export function isWholeName(name: unknown): boolean {
  return typeof name === "string" && WHOLE.test(name);
}
