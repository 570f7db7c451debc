/** Accounts of payers that several workers have in common. */
import { duplexPair } from "node:stream";
import { expect, it, vi } from "vitest";
import { shareRates, type Takings, UntoldTakings } from "../../../src/app/workers/shared-rates.ts";
import { Link } from "../../../src/base/link.ts";
import { MinuteRates } from "../../../src/dispatch/rates/minute-rates.ts";
import { RateWindow } from "../../../src/dispatch/rates/rate-window.ts";
import { Rates } from "../../../src/dispatch/rates/rates.ts";
import { STORE_FAULTS } from "../../../src/state/sharing/link-faults.ts";
import { PATIENCE } from "../../support/patience.ts";

const payer = (): string => "a";

/** Two workers whose parent passes on what one tells. */
function makeWorkers(
  limits: ConstructorParameters<typeof Rates>[0],
  minutes = [new MinuteRates(), new MinuteRates()] as const,
): readonly [Rates, Rates] {
  const [near, far] = duplexPair();
  const rates = [new Rates(limits), new Rates(limits)] as const;
  shareRates(new Link(near, STORE_FAULTS), { rates: rates[0], minuteRates: minutes[0] });
  shareRates(new Link(far, STORE_FAULTS), { rates: rates[1], minuteRates: minutes[1] });
  return rates;
}

it.each([
  ["requests", { requestsPerSecond: 1, workMsPerSecond: 0 }],
  ["work", { requestsPerSecond: 0, workMsPerSecond: 100 }],
] as const)("counts %s wherever they were taken, and once", async (scope, limits) => {
  const [here, there] = makeWorkers(limits);
  here.admit(payer, 0);
  here.charge("a", 200, 0);
  await vi.waitFor(() => expect(there.size).toBe(1), PATIENCE);
  expect(there.admit(payer, 0)).toMatchObject({ scope });
  expect(there.admit(() => "b", 0)).toBeUndefined();
  // What it was told it does not tell again: there it would count twice.
  expect(here.admit(payer, 1_000 + performance.now())).toBeUndefined();
});

it("counts turns by the minute wherever they were taken, and once", async () => {
  const minutes = [new MinuteRates(), new MinuteRates()] as const;
  makeWorkers({ requestsPerSecond: 0, workMsPerSecond: 0 }, minutes);
  const [here, there] = minutes.map((rates) => new RateWindow({ name: "test", rates }));
  const heard = [0, 0];
  for (const [index, rates] of minutes.entries()) {
    rates.join({
      add: (_, count) => {
        heard[index] = (heard[index] ?? 0) + count;
      },
    });
  }
  for (let turn = 0; turn < 5; turn += 1) expect(here?.take("a", 6)).toBeUndefined();
  await vi.waitFor(() => expect(heard).toEqual([0, 5]), PATIENCE);
  expect([there?.take("a", 6), there?.take("b", 6)]).toEqual([undefined, undefined]);
  expect(there?.take("a", 6)).toBe(60);
  await vi.waitFor(() => expect(heard).toEqual([2, 5]), PATIENCE);
  expect(here?.take("a", 6)).toBe(60);
});

it("keeps one sum for each payer while the other process does not read, and tells it afterwards", async () => {
  const [near, far] = duplexPair();
  const link = new Link(near, STORE_FAULTS);
  // Nobody reads the other end yet.
  link.tell("noise", "x".repeat(2 * 1024 * 1024));
  await vi.waitFor(() => expect(link.isBehind).toBe(true), PATIENCE);
  const waiting = near.writableLength;
  const untold = new UntoldTakings(link, 0);
  for (let turn = 0; turn < 200; turn += 1) {
    for (let agent = 0; agent < 20; agent += 1) untold.take("requests", `agent ${agent}`, 1);
    untold.pass({ taken: [], byMinute: [{ account: "a", count: 2 }] });
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(near.writableLength).toBe(waiting);
  const heard: Takings[] = [];
  new Link(far, STORE_FAULTS).serve({
    noise: () => undefined,
    rates: (takings: Takings) => heard.push(takings),
  });
  await vi.waitFor(() => expect(heard).toHaveLength(1), PATIENCE);
  expect(heard[0]?.taken).toHaveLength(20);
  expect(heard[0]?.taken[7]).toEqual({ scope: "requests", payer: "agent 7", amount: 200 });
  expect(heard[0]?.byMinute).toEqual([{ account: "a", count: 400 }]);
});

it("holds no more payers than it would tell at once", async () => {
  const [near, far] = duplexPair();
  const untold = new UntoldTakings(new Link(near, STORE_FAULTS), 0);
  for (let agent = 0; agent < 12_000; agent += 1) untold.take("work", `agent ${agent}`, 1);
  const heard: Takings[] = [];
  new Link(far, STORE_FAULTS).serve({ rates: (takings: Takings) => heard.push(takings) });
  await vi.waitFor(() => expect(heard).toHaveLength(1), PATIENCE);
  expect(heard[0]?.taken).toHaveLength(10_000);
});
