/** What leaves and what is told of in the place of a reply whose record is not known to be kept. */
import { expect, it } from "vitest";
import type { Exchange } from "../../src/dispatch/exchange.ts";
import type { Observer } from "../../src/dispatch/observer.ts";
import {
  asRecorded,
  observeRecorded,
  type Recording,
  recorded,
} from "../../src/dispatch/recorded.ts";
import { storeUnavailable } from "../../src/dispatch/refusals/store-refusals.ts";
import { type Reply, replyToRefusal } from "../../src/dispatch/reply.ts";
import type { Response } from "../../src/wire/message.ts";

const REPLY: Reply = { ...replyToRefusal(storeUnavailable()), status: 200, refusal: undefined };
const EXCHANGE = {} as Exchange;

/** The statuses that were told, with their codes, and what settles them. */
function watch(hears: readonly number[] = [200]) {
  const told: unknown[] = [];
  const waiting: (() => void)[] = [];
  const observer: Observer = {
    hears: (status) => hears.includes(status),
    start: () => undefined,
    end: (_, { status }, { refusal }) => told.push([status, refusal?.code]),
    wireFault: () => undefined,
    fault: () => undefined,
    logFor: () => {
      throw new Error("nothing is logged here");
    },
  };
  const ledger: Recording = { whenSettled: (done) => waiting.push(() => done(undefined)) };
  return {
    told,
    observer: observeRecorded(observer, ledger),
    /** Answers how many have waited for it. */
    settle: () => {
      const settled = waiting.splice(0);
      for (const done of settled) done();
      return settled.length;
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

it("keeps none waiting of whose end nobody would hear", () => {
  const deaf = watch([]);
  deaf.observer.end(EXCHANGE, respond({ isKnown: false }), REPLY);
  expect(deaf.settle()).toBe(0);
  const { told, observer, settle } = watch([503]);
  observer.end(EXCHANGE, respond({ isKnown: false }), REPLY);
  expect(settle()).toBe(1);
  expect(told).toEqual([[503, "outcome-unknown"]]);
});

const FIELDS = [
  ...["Server-ID: s", "AGTP-API-Version: 1.0", "Response-ID: r", "Agent-ID: a", "Request-ID: q"],
  ...["Location: /secret", "Idempotency-Replayed: true", "Content-Type: text/plain"],
];

function replyWith(isKnown: boolean): Response {
  const fields = FIELDS.map((line) => `${line}\r\n`).join("");
  const lateFields = { isKnown, lines: "Audit-ID: 1\r\n" };
  return { status: 200, responseId: "r", fields, lateFields, body: "done: 42" };
}

it("leaves a reply as it is whose record is kept, or that has none", () => {
  const kept = replyWith(true);
  expect(asRecorded(kept)).toBe(kept);
  const { lateFields: _, ...bare } = kept;
  expect(asRecorded(bare)).toBe(bare);
});

it("says of a reply without its record whose answer it is to what, and nothing of the answer", () => {
  const { status, responseId, fields, lateFields, body } = asRecorded(replyWith(false));
  expect([status, responseId, lateFields]).toEqual([503, "r", undefined]);
  expect(fields.trimEnd().split("\r\n")).toEqual([
    ...FIELDS.slice(0, 5),
    "Retry-After: 1",
    "Content-Type: application/vnd.agtp+json",
  ]);
  expect(JSON.parse(String(body))).toMatchObject({ error: { code: "outcome-unknown" } });
});

it("waits for the record of one answer, and says what failed", async () => {
  const failure = new Error("the disk is full");
  const ledger: Recording = { whenSettled: (done) => done(failure) };
  const kept = replyWith(true);
  expect(await recorded(ledger, kept)).toEqual({ response: kept, isKept: true, failure });
  const lost = await recorded(ledger, replyWith(false));
  expect([lost.response.status, lost.isKept]).toEqual([503, false]);
});
