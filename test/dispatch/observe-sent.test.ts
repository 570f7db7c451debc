/** Who hears of requests hears of what was sent, also where a record was lost on the way. */
import { expect, it } from "vitest";
import type { Exchange } from "../../src/dispatch/exchange.ts";
import { observeSent, type Settling } from "../../src/dispatch/observe-sent.ts";
import type { Observer } from "../../src/dispatch/observer.ts";
import { storeUnavailable } from "../../src/dispatch/refusals/refusal.ts";
import { type Reply, replyToRefusal } from "../../src/dispatch/reply.ts";
import type { Response } from "../../src/wire/message.ts";

const REPLY: Reply = { ...replyToRefusal(storeUnavailable()), status: 200, refusal: undefined };
const EXCHANGE = {} as Exchange;

/** The statuses that were told, with their codes, and what settles them. */
function watch() {
  const told: unknown[] = [];
  const waiting: (() => void)[] = [];
  const observer: Observer = {
    start: () => undefined,
    end: (_, { status }, { refusal }) => told.push([status, refusal?.code]),
    wireFault: () => undefined,
    fault: () => undefined,
    logFor: () => {
      throw new Error("nothing is logged here");
    },
  };
  const ledger: Settling = { settle: (done) => waiting.push(() => done(undefined)) };
  return {
    told,
    observer: observeSent(observer, ledger),
    settle: () => {
      for (const done of waiting.splice(0)) done();
    },
  };
}

function respond(late?: { isKnown: boolean }): Response {
  const lateFields = late && Object.assign(late, { lines: "" });
  const bare = { status: 200, responseId: "r", fields: "", body: "" };
  return lateFields === undefined ? bare : { ...bare, lateFields };
}

it("tells at once of what waits for no record", () => {
  const { told, observer } = watch();
  observer.end(EXCHANGE, respond(), REPLY);
  observer.end(EXCHANGE, respond({ isKnown: true }), REPLY);
  expect(told).toEqual([
    [200, undefined],
    [200, undefined],
  ]);
});

it("tells of a reply once its record is kept, and of 503 where it is not", () => {
  const { told, observer, settle } = watch();
  const kept = { isKnown: false };
  observer.end(EXCHANGE, respond(kept), REPLY);
  observer.end(EXCHANGE, respond({ isKnown: false }), REPLY);
  expect(told).toEqual([]);
  kept.isKnown = true;
  settle();
  expect(told).toEqual([
    [200, undefined],
    [503, "outcome-unknown"],
  ]);
});
