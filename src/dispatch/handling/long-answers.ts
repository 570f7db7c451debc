/**
 * Long answers: a run, a list or an upstream's answer may be megabytes of JSON, and encoding and
 * hashing it in one go would block everybody else. The caller pays for the turns.
 */
import { isLongJson } from "../../base/json-pieces.ts";
import { isStructure } from "../../base/json-value.ts";
import { isShared, sharingBody } from "../../base/kept-text.ts";
import type { TaskQueue } from "../../base/task-queue.ts";
import { payerOf } from "../rates/rates.ts";
import type { Outcome, RouteHandler } from "../routes/route.ts";

/** Wraps a handler so that long asynchronous answers are encoded in turns. */
export function withLongAnswers(
  handler: RouteHandler,
  work: Pick<TaskQueue, "pace">,
): RouteHandler {
  return (call, exchange) => {
    const outcome = handler(call, exchange);
    if (!(outcome instanceof Promise) || exchange.inner !== undefined) return outcome;
    return outcome.then((given) => {
      const body = longBody(given);
      if (body === undefined) return given;
      return work.pace(sharingBody(body), payerOf(exchange), call.signal).then(() => given);
    });
  };
}

function longBody(outcome: Outcome): object | undefined {
  const body = "body" in outcome ? outcome.body : undefined;
  if (!isStructure(body) || body instanceof Uint8Array || isShared(body)) return undefined;
  return isLongJson(body) ? body : undefined;
}
