/**
 * Limits by the minute at two processes that hear of each other's turns some time later, and of which each may be asked
 * for long without the other: no more is given than one process would give, but for what is not heard of yet, nobody is
 * refused whom one process would serve, and who comes when it was told to is served.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MinuteRates, type MinuteTaking } from "../../src/dispatch/rates/minute-rates.ts";
import { RateWindow } from "../../src/dispatch/rates/rate-window.ts";
import { ToolRates } from "../../src/modules/openwop/turn/tool-rates.ts";
import { AT, type At } from "../support/hearing-nodes.ts";

const MINUTE_MS = 60_000;
/** The longest that a turn waits before the other process hears of it. */
const LATE_MS = 1_000;

type Step =
  /** Somebody asks so often, with so long between. */
  | { readonly kind: "ask"; readonly at: At; readonly times: number; readonly everyMs: number }
  | { readonly kind: "hear" }
  | { readonly kind: "obey"; readonly at: At }
  | { readonly kind: "wait"; readonly ms: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ kind: fc.constant("ask" as const), at: AT, times: fc.integer({ min: 1, max: 12 }) },
      everyMs: fc.constantFrom(0, 0, 100, 3_000, 7_001, 30_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("hear" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("obey" as const), at: AT }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1, 500, 20_000, 59_999, 300_000),
    }),
  },
);

/** Answers in how many milliseconds there is a turn again, or nothing. */
type Take = (at: At) => number | undefined;

/** A limit at two processes. */
interface Limit {
  readonly take: Take;
  /** The least and the most turns that one process would have left, where each was taken up to `LATE_MS` later. */
  left(turns: readonly number[], now: number): readonly [least: number, most: number];
}

type OpenLimit = (options: {
  readonly perMinute: number;
  readonly rates: readonly [MinuteRates, MinuteRates];
  now(): number;
}) => Limit;

const openWindow: OpenLimit = ({ perMinute, rates, now }) => {
  const windows = rates.map((one) => new RateWindow({ name: "test", rates: one, now }));
  const leftAt = (turns: readonly number[], at: number): number =>
    perMinute - turns.filter((turn) => at - turn < MINUTE_MS).length;
  return {
    take: (at) => {
      const seconds = windows[at]?.take("a", perMinute);
      return seconds === undefined ? undefined : seconds * 1_000;
    },
    left: (turns, at) => [leftAt(turns, at - LATE_MS), leftAt(turns, at)],
  };
};

const openBucket: OpenLimit = ({ perMinute, rates, now }) => {
  const buckets = rates.map((one) => new ToolRates(one, now));
  for (const bucket of buckets) bucket.limit(perMinute);
  const leftAt = (turns: readonly number[], now: number): number => {
    let [left, since] = [perMinute, 0];
    const filled = (until: number): number =>
      Math.min(perMinute, left + ((until - since) * perMinute) / MINUTE_MS);
    for (const turn of turns) {
      // Nobody waits longer than a bucket takes to fill.
      left = Math.max(1 - perMinute, filled(turn) - 1);
      since = turn;
    }
    return filled(now);
  };
  return {
    take: (at) => buckets[at]?.take("ann", "tool"),
    left: (turns, at) => {
      const slack = (2 * LATE_MS * perMinute) / MINUTE_MS;
      const left = leftAt(turns, at);
      return [left - slack, left + slack];
    },
  };
};

class World {
  readonly #limit: Limit;
  #now = 1_000_000;
  readonly #untold: { readonly to: At; readonly taking: MinuteTaking; readonly since: number }[] =
    [];
  readonly #rates = [new MinuteRates(), new MinuteRates()] as const;
  readonly #turns: number[] = [];

  constructor(open: OpenLimit, perMinute: number) {
    this.#limit = open({ perMinute, rates: this.#rates, now: () => this.#now });
    for (const at of [0, 1] as const) {
      this.#rates[at].share((taking) => {
        this.#untold.push({ to: at === 0 ? 1 : 0, taking, since: this.#now });
      });
    }
  }

  run(step: Step): void {
    switch (step.kind) {
      case "ask":
        for (let time = 0; time < step.times; time += 1) {
          this.#ask(step.at);
          this.#pass(step.everyMs);
        }
        return;
      case "hear":
        this.#hear();
        return;
      case "obey": {
        this.#hear();
        const wait = this.#ask(step.at);
        if (wait === undefined) return;
        expect(wait).toBeLessThanOrEqual(MINUTE_MS);
        this.#pass(wait + 1);
        expect(this.#ask(step.at)).toBeUndefined();
        return;
      }
      case "wait":
        this.#pass(step.ms);
    }
  }

  #ask(at: At): number | undefined {
    const isHeard = !this.#untold.some(({ to }) => to === at);
    const [least, most] = this.#limit.left(this.#turns, this.#now);
    const wait = this.#limit.take(at);
    if (wait === undefined) this.#turns.push(this.#now);
    if (isHeard && least >= 1) expect(wait).toBeUndefined();
    if (isHeard && most < 1 - 1e-6) expect(wait).toBeGreaterThan(0);
    return wait;
  }

  #hear(): void {
    for (const { to, taking } of this.#untold.splice(0)) this.#rates[to].add(taking);
  }

  /** Lets time pass, in which what was done so long ago is heard of. */
  #pass(ms: number): void {
    const until = this.#now + ms;
    const [first] = this.#untold;
    if (first !== undefined && until >= first.since + LATE_MS) {
      this.#now = first.since + LATE_MS;
      this.#hear();
    }
    this.#now = until;
  }
}

describe("a limit by the minute at two processes", () => {
  it.each([
    ["a window", openWindow],
    ["a bucket", openBucket],
  ])("is kept once, and is nobody's for longer than it says, as %s", (_, open) => {
    const perMinute = fc.constantFrom(1, 2, 3, 7, 10);
    fc.assert(
      fc.property(perMinute, fc.array(STEP, { maxLength: 30, size: "max" }), (most, steps) => {
        const world = new World(open, most);
        for (const step of steps) world.run(step);
      }),
      { numRuns: 300 },
    );
  });
});
