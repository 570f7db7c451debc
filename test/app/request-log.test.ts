import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createObserver, milliseconds } from "../../src/app/observer.ts";
import { createLog } from "../../src/base/log.ts";
import type { Peer } from "../../src/dispatch/caller/peer.ts";
import { badRequest, type Refusal } from "../../src/dispatch/refusals/refusal.ts";
import { AGTP_JSON, type Reply } from "../../src/dispatch/reply.ts";
import type { Route } from "../../src/dispatch/routes/route.ts";
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

function createTeller(route: Route | undefined, peer?: Peer) {
  const lines: Record<string, unknown>[] = [];
  const sink = {
    write: (text: string) => void lines.push(JSON.parse(text)),
    flush: () => Promise.resolve(),
  };
  const observer = createObserver(createLog("info", sink));
  return (options: ExchangeOptions = {}, status: Status = 200, refusal?: Refusal) => {
    const exchange = makeExchange(options);
    Object.assign(exchange, { route }, peer && { peer });
    const reply: Reply = {
      ...{ status, body: {}, contentType: AGTP_JSON, headers: undefined, refusal },
    };
    observer.end(exchange, { status, responseId: "r", fields: "", body: "" }, reply);
    const { level: _, time: __, event: ___, duration_ms: ____, ...said } = lines.at(-1) ?? {};
    return said;
  };
}

it("writes the line of each request, whatever the ones before it said", () => {
  const told = createTeller(makeRoute());
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

it("writes the line of each refusal, and who asked, whatever was refused before it", () => {
  const peer: Peer = { address: "192.0.2.7", port: 7 };
  const told = createTeller(undefined, peer);
  const asked = ["a", "b", "a", undefined].flatMap((agent) =>
    ["BOOK", "CANCEL"].flatMap((method) =>
      ["/rooms", "/roome"].flatMap((path) =>
        (["invalid-body", "invalid-query"] as const).map((code) => ({ agent, method, path, code })),
      ),
    ),
  );
  for (const { agent, method, path, code } of [...asked, ...asked.toReversed()]) {
    const headers = agent === undefined ? {} : { "agent-id": agent };
    for (let time = 0; time < 3; time += 1) {
      expect(told({ method, path, headers }, 400, badRequest(code, "no"))).toEqual({
        ...{ method, path, status: 400, code, response_id: "r", remote: "192.0.2.7" },
        ...(agent === undefined ? {} : { agent_id: agent }),
      });
    }
  }
});

it("has all its members on the page of the log's events", () => {
  const page = readFileSync("docs/reference/events.md", "utf8");
  const headers = { "agent-id": "a", "request-id": "b", "task-id": "c", "session-id": "d" };
  const told = createTeller(makeRoute());
  const said = told({ headers }, 400, badRequest("invalid-body", "no"));
  const members = ["event", "request", "level", "time", "duration_ms", ...Object.keys(said)];
  expect(members).toHaveLength(15);
  expect(members.filter((member) => !page.includes(`\`${member}\``))).toEqual([]);
});

it("conceals the secrets of an endpoint, whatever another one showed", () => {
  const concealment = { text: () => "/hidden", value: (value: unknown) => value };
  const open = createTeller(makeRoute());
  const concealing = createTeller({ ...makeRoute(), concealment });
  for (let time = 0; time < 3; time += 1) {
    expect(open({}, 400, badRequest("invalid-body", "no"))).toMatchObject({ path: "/room" });
    expect(concealing({}, 400, badRequest("invalid-body", "no"))).toMatchObject({
      path: "/hidden",
    });
  }
});

it("lets a handler's fields stand beside a line's own members, never twice in a line", () => {
  const lines: string[] = [];
  const sink = { write: (text: string) => void lines.push(text), flush: () => Promise.resolve() };
  const observer = createObserver(createLog("info", sink));
  const log = observer.logFor(makeExchange({ headers: { "request-id": "r-1" } }));
  log.info(
    { level: "gold", time: 7, request_id: "r-2", message: "m", event: "booked", nights: 2 },
    "said",
  );
  log.warn({ nights: 3 }, "again");
  const names = (lines[0] ?? "").match(/"([a-z_]+)":/g) ?? [];
  expect(new Set(names).size).toBe(names.length);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    ...{ level: "info", request_id: "r-1", message: "said", event: "booked", nights: 2 },
    ...{ level_: "gold", time_: 7, request_id_: "r-2", message_: "m" },
  });
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ level: "warn", nights: 3, message: "again" });
});
