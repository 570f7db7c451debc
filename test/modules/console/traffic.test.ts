/** The requests of late: told as they were, however many there are, and kept without keeping them alive. */
import { channel } from "node:diagnostics_channel";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CHANNELS, type RequestEnd } from "../../../src/dispatch/observer.ts";
import {
  MAX_REQUESTS,
  type NotedFact,
  RequestRing,
} from "../../../src/modules/console/request-ring.ts";
import { Traffic } from "../../../src/modules/console/traffic.ts";
import { makeExchange } from "../../support/exchange.ts";

const FACT: NotedFact = {
  ...{ responseId: "0190", at: 1, method: "BOOK", path: "/rooms", status: 200, durationMs: 0.25 },
  ...{ agentId: undefined, operator: undefined, gate: undefined, code: undefined },
};

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Octets of objects and texts that are alive. */
function alive(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe("the ring", () => {
  it("tells each request as it was noted, whatever its texts have in them", () => {
    const token = fc.stringMatching(/^[!-~]{1,80}$/);
    const facts = fc.record({
      ...{ responseId: token, method: token, status: fc.integer({ min: 0, max: 999 }) },
      path: fc
        .tuple(fc.string({ unit: "binary", maxLength: 20 }), fc.constantFrom(1, 2, 30))
        .map(([piece, times]) => `/\ud800\n\0${piece.repeat(times)}`),
      ...{ at: fc.nat(), durationMs: fc.double({ min: 0, noNaN: true }) },
      agentId: fc.option(token, { nil: undefined }),
      operator: fc.option(fc.string({ unit: "binary", minLength: 1 }), { nil: undefined }),
      gate: fc.option(token, { nil: undefined }),
      code: fc.option(token, { nil: undefined }),
    });
    const ring = new RequestRing();
    const before = fc.array(fc.option(facts), { maxLength: 20 });
    fc.assert(
      fc.property(before, (noted) => {
        const first = ring.last + 1;
        for (const fact of noted) {
          if (fact === null) ring.count(0);
          else ring.note(fact);
        }
        const told = [...ring.newest(first - 1)].toReversed();
        const expected = noted.map((fact, index) => fact && { number: first + index, ...fact });
        expect(told).toEqual(expected.filter((fact) => fact !== null));
      }),
      { numRuns: 30 },
    );
  });

  it("has room for so many, and long ones take none of it from others", () => {
    const ring = new RequestRing();
    const path = (number: number): string =>
      `/${number}/`.padEnd(number % 3 === 0 ? 8_000 : 20, "x");
    const count = MAX_REQUESTS * 2 + 7;
    for (let number = 1; number <= count; number += 1) {
      ring.note({ ...FACT, path: path(number), durationMs: number });
    }
    expect(ring.last).toBe(count);
    const known = [...ring.newest()];
    expect(known).toHaveLength(MAX_REQUESTS);
    for (const [index, { number, path: told, durationMs }] of known.entries()) {
      const expected = count - index;
      expect([number, durationMs]).toEqual([expected, expected]);
      if (told !== path(number)) expect([number, told]).toEqual([]);
    }
    expect([...ring.newest(count - 1)].map(({ number }) => number)).toEqual([count]);
    expect([...ring.newest(count)]).toEqual([]);
    expect([...ring.sortedDurations(3)]).toEqual([count - 2, count - 1, count]);
    expect(ring.sortedDurations(count)).toHaveLength(MAX_REQUESTS);
  });
});

describe("the traffic", () => {
  const end = (path: string): RequestEnd => ({
    exchange: makeExchange({ path }),
    ...{ status: 200, durationMs: 1 },
  });

  it("with nobody looking hears of the end of a request, and of nothing on its way", () => {
    const others = [CHANNELS.start, CHANNELS.handler, CHANNELS.inner].map((name) => channel(name));
    const before = others.map(({ hasSubscribers }) => hasSubscribers);
    const traffic = new Traffic();
    onTestFinished(traffic.listen());
    expect(others.map(({ hasSubscribers }) => hasSubscribers)).toEqual(before);
    channel(CHANNELS.end).publish(end("/rooms/1"));
    expect(traffic.list({})).toMatchObject([{ number: 1, path: "/rooms/1", status: 200 }]);
  });

  it("counts all at full load, and notes so many of those served and of those refused", () => {
    const traffic = new Traffic(20);
    onTestFinished(traffic.listen());
    vi.useFakeTimers({ now: 1_000 });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const [refused, ended] = [channel(CHANNELS.refusal), channel(CHANNELS.end)];
    const serve = (count: number): void => {
      for (let at = 0; at < count; at += 1) ended.publish(end(`/rooms/${at}`));
    };
    serve(100);
    for (let at = 0; at < 30; at += 1) {
      const { exchange } = end("/no");
      refused.publish({ exchange, refusal: { code: "not-found" } });
      ended.publish({ exchange, status: 404, durationMs: 1 });
    }
    vi.advanceTimersByTime(100);
    serve(5);
    const told = traffic.list({});
    expect(traffic.counts()).toMatchObject({ requests: 135, by_status: { 200: 105, 404: 30 } });
    expect(told.map(({ number }) => number)).toEqual(
      [...range(1, 20), ...range(101, 120), ...range(131, 135)].toReversed(),
    );
    expect(told.filter(({ code }) => code === "not-found")).toHaveLength(20);
  });

  // What survives a request is copied by the collector, and with it the head that a path is a piece of.
  it("keeps nothing of a request alive", () => {
    const traffic = new Traffic(MAX_REQUESTS);
    onTestFinished(traffic.listen());
    const ended = channel(CHANNELS.end);
    const head = "h".repeat(4_000);
    const before = alive();
    for (let at = 10_000; at < 10_000 + MAX_REQUESTS; at += 1) {
      ended.publish(end(Buffer.from(`/rooms/${at}/of/the/house${head}`).toString().slice(0, 28)));
    }
    const octets = (alive() - before) / MAX_REQUESTS;
    expect(traffic.list({})).toHaveLength(500);
    expect(octets).toBeLessThan(100);
  });
});
