import fc from "fast-check";
import { expect, it } from "vitest";
import { createObserver, milliseconds } from "../../src/app/observer.ts";
import { createLog } from "../../src/base/log.ts";
import { AGTP_JSON, type Reply } from "../../src/dispatch/reply.ts";
import type { Status } from "../../src/wire/message.ts";
import { type ExchangeOptions, makeExchange, makeRoute } from "../support/exchange.ts";

it("writes durations as JSON writes them, to the microsecond", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e7, noNaN: true }), (duration) => {
      expect(milliseconds(duration)).toBe(JSON.stringify(Math.round(duration * 1000) / 1000));
    }),
    { numRuns: 2_000 },
  );
});

it("writes the line of each request, whatever the ones before it said", () => {
  const lines: Record<string, unknown>[] = [];
  const sink = {
    write: (text: string) => void lines.push(JSON.parse(text)),
    flush: () => Promise.resolve(),
  };
  const observer = createObserver(createLog("info", sink));
  const route = makeRoute();
  const told = (options: ExchangeOptions = {}, status: Status = 200) => {
    const exchange = makeExchange(options);
    exchange.route = route;
    const reply: Reply = {
      ...{ status, body: {}, contentType: AGTP_JSON, headers: undefined, refusal: undefined },
    };
    observer.end(exchange, { status, responseId: "r", fields: "", body: "" }, reply);
    const { level: _, time: __, event: ___, duration_ms: ____, ...said } = lines.at(-1) ?? {};
    return said;
  };
  const plain = {
    method: "BOOK",
    path: "/room",
    status: 200,
    response_id: "r",
    remote: "127.0.0.1",
  };
  for (let time = 0; time < 3; time += 1) expect(told()).toEqual(plain);
  expect(told({}, 422)).toEqual({ ...plain, status: 422 });
  expect(told({ path: "/room/7" })).toEqual({ ...plain, path: "/room/7" });
  expect(told({ method: "QUERY" })).toMatchObject({ method: "QUERY" });
  const headers = { "agent-id": "a", "request-id": "b", "task-id": "c", "session-id": "d" };
  const ids = { agent_id: "a", request_id: "b", task_id: "c", session_id: "d" };
  expect(told({ headers })).toEqual({ ...plain, ...ids });
  expect(told({ headers: { "task-id": "c" } })).toEqual({ ...plain, task_id: "c" });
  expect(told()).toEqual(plain);
});
