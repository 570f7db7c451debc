/**
 * The accounts of payers: requests that are judged some time after they arrived, work that comes in lumps, and nodes
 * that give one rate together while their leases come late, are lost, or end with the node. Never is more admitted than
 * the rate and what is saved up, and who comes when it was told to is let in.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LeasedShares, openRateShares } from "../../src/dispatch/rates/rate-shares.ts";
import { type RateExcess, Rates } from "../../src/dispatch/rates/rates.ts";
import { SOLE_HOLDER } from "../../src/state/holders.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";
import { type CommitFault, FAULT, HearingNode } from "../support/hearing-nodes.ts";

const PAYER = (): string => "a";
/** The longest that a request waits between its arrival and its gate. */
const LATE_MS = 2_000;

type Step =
  | { readonly kind: "ask"; readonly afterMs: number; readonly lateMs: number }
  | { readonly kind: "work"; readonly ms: number }
  | { readonly kind: "obey" | "hurry" | "rest" };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      afterMs: fc.constantFrom(0, 0, 0, 1, 30, 400, 1_100),
      lateMs: fc.constantFrom(0, 0, 1, 500, LATE_MS),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("work" as const),
      ms: fc.constantFrom(5, 40, 700, 100_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("obey", "obey", "hurry", "rest") }) },
);

const LIMITS = fc.record({
  requestsPerSecond: fc.constantFrom(0, 1, 2, 3, 7, 20),
  workMsPerSecond: fc.constantFrom(0, 3, 200),
});

interface Limits {
  readonly requestsPerSecond: number;
  readonly workMsPerSecond: number;
}

/** One payer, and what it was told. */
class Account {
  readonly #rates: Rates;
  readonly #limits: Limits;
  readonly #admittedAt: number[] = [];
  #now = 10_000;
  /** The work that is not paid off, as of a moment. */
  readonly #debt = { ms: 0, at: 0 };
  #refused: { readonly excess: RateExcess; readonly startedAt: number } | undefined;

  constructor(limits: Limits) {
    this.#rates = new Rates(limits);
    this.#limits = limits;
  }

  run(step: Step): void {
    switch (step.kind) {
      case "ask":
        this.#now += step.afterMs;
        this.#ask(this.#now - step.lateMs);
        return;
      case "work": {
        const { workMsPerSecond } = this.#limits;
        this.#rates.charge("a", step.ms, this.#now);
        this.#debt.ms = Math.min(this.#debtAt(this.#now) + step.ms, 60 * workMsPerSecond);
        this.#debt.at = this.#now;
        this.#refused = undefined;
        return;
      }
      case "obey": {
        if (this.#refused === undefined) return;
        const { scope, retryAfterSeconds } = this.#refused.excess;
        expect(retryAfterSeconds).toBeLessThanOrEqual(60);
        this.#now += retryAfterSeconds * 1_000 + 1;
        // The other account may have a word of its own.
        expect(this.#ask(this.#now)?.scope).not.toBe(scope);
        return;
      }
      case "hurry": {
        if (this.#refused === undefined) return;
        const { excess, startedAt } = this.#refused;
        const early = startedAt + (excess.retryAfterSeconds - 1) * 1_000 - 1;
        this.#now = Math.max(this.#now, early);
        if (early > startedAt) expect(this.#ask(early)?.scope).toBe(excess.scope);
        return;
      }
      case "rest":
        this.#now += 60_001;
        expect(this.#ask(this.#now)).toBeUndefined();
    }
  }

  /** At no time was there more than the rate and what is saved up; a request counts from its arrival. */
  check(): void {
    const { requestsPerSecond: rate } = this.#limits;
    if (rate === 0) return;
    const beyond = this.#admittedAt.map((from, first) => {
      const most = (to: number): number => rate + ((to - from + LATE_MS) * rate) / 1_000;
      const later = this.#admittedAt.slice(first);
      return Math.max(...later.map((to, index) => index + 1 - most(to)));
    });
    expect(Math.max(0, ...beyond)).toBeLessThan(1e-6);
  }

  #ask(startedAt: number): RateExcess | undefined {
    const excess = this.#rates.admit(PAYER, startedAt);
    this.#refused = excess && { excess, startedAt };
    if (excess === undefined) this.#admittedAt.push(this.#now);
    const left = 2 * this.#limits.workMsPerSecond - this.#debtAt(startedAt);
    const isWorkedOff = this.#limits.workMsPerSecond === 0 || left > 0;
    if (Math.abs(left) > 1e-6) expect(excess?.scope !== "work").toBe(isWorkedOff);
    return excess;
  }

  #debtAt(now: number): number {
    const { ms, at } = this.#debt;
    return Math.max(0, ms - (Math.max(0, now - at) * this.#limits.workMsPerSecond) / 1_000);
  }
}

describe("the account of a payer", () => {
  it("gives the rate and what is saved up, and keeps its word on when there is more", () => {
    fc.assert(
      fc.property(LIMITS, fc.array(STEP, { maxLength: 60, size: "max" }), (limits, steps) => {
        const account = new Account(limits);
        for (const step of steps) account.run(step);
        account.check();
      }),
      { numRuns: 400 },
    );
  });
});

/** A second of three nodes. */
interface Second {
  /** The nodes that the payer asks. */
  readonly asked: readonly number[];
  readonly faults: readonly CommitFault[];
  /** The nodes that hear what the others have leased, and those that start anew before. */
  readonly hearing: readonly number[];
  readonly restarted: readonly number[];
}

const NODES = [0, 1, 2] as const;
const SOME = fc.subarray([...NODES]);
const SECOND: fc.Arbitrary<Second> = fc.record({
  asked: SOME,
  faults: fc.array(FAULT, { minLength: NODES.length, maxLength: NODES.length }),
  hearing: SOME,
  restarted: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, SOME),
});

const ASKED_EVERY_MS = 10;

interface RatedNode {
  readonly rates: Rates;
  readonly shares: LeasedShares;
}

/** Nodes that give one payer a rate together. */
class Cluster {
  readonly #nodes: readonly HearingNode<RatedNode>[];
  #now = 0;
  #processes = 0;

  constructor(requestsPerSecond: number) {
    const store = createMemoryStore();
    this.#nodes = NODES.map(() => {
      return new HearingNode<RatedNode>(store, {
        open: async (shared) => {
          this.#processes += 1;
          const rates = new Rates({ requestsPerSecond, workMsPerSecond: 0 });
          const shares = await openRateShares(shared, {
            holders: { ...SOLE_HOLDER, self: `p-${this.#processes}` },
            limitOf: (scope) => rates.limitOf(scope),
            onFault: (error) => expect(error).toBeUndefined(),
            now: () => this.#now,
          });
          if (shares === undefined) throw new Error("there are no shares");
          // The test renews them itself.
          shares.close();
          rates.share(shares);
          return { rates, shares };
        },
      });
    });
  }

  async start(): Promise<void> {
    for (const node of this.#nodes) await node.start();
  }

  /** Lets a second pass; answers how many requests were admitted in it. */
  async pass({ asked, faults, hearing, restarted }: Second): Promise<number> {
    for (const at of restarted) await this.#nodes[at]?.start();
    let admitted = 0;
    for (let ms = 0; ms < 1_000; ms += ASKED_EVERY_MS) {
      this.#now += ASKED_EVERY_MS;
      for (const at of asked) {
        const { rates } = this.#nodes[at]?.registers ?? {};
        if (rates?.admit(PAYER, this.#now) === undefined) admitted += 1;
      }
    }
    for (const [at, node] of this.#nodes.entries()) {
      node.fault = faults[at] ?? "none";
      await node.registers.shares.renew().catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreUnavailableError);
      });
      node.fault = "none";
    }
    for (const at of hearing) await this.#nodes[at]?.hear();
    return admitted;
  }
}

/** The seconds in which nodes may not know of each other, and those that are counted. */
const SETTLING_S = 8;
const COUNTED_S = 10;

// `[limits] requests_per_second`, docs/cluster.md "Rates"
describe("a rate of three nodes", () => {
  it("is given once to whoever asks some of them, whatever became of their leases before", async () => {
    const rate = fc.constantFrom(1, 2, 3, 10);
    const before = fc.array(SECOND, { maxLength: 8, size: "max" });
    const settled = fc.subarray([...NODES], { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(rate, before, settled, async (perSecond, seconds, asked) => {
        const cluster = new Cluster(perSecond);
        await cluster.start();
        for (const second of seconds) await cluster.pass(second);
        const even = { asked, faults: [], hearing: NODES, restarted: [] };
        for (let second = 0; second < SETTLING_S; second += 1) await cluster.pass(even);
        let admitted = 0;
        for (let second = 0; second < COUNTED_S; second += 1) admitted += await cluster.pass(even);
        expect(admitted).toBeLessThanOrEqual(1.1 * COUNTED_S * perSecond + asked.length);
        expect(admitted).toBeGreaterThanOrEqual(0.9 * COUNTED_S * perSecond - asked.length);
      }),
      { numRuns: 60 },
    );
  });
});
