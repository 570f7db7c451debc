/**
 * Rates by the minute on two nodes, whose commits come late, fail before or after they are made, and which are killed:
 * what one has given is counted by the other once, and never more of it than there was.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  MinuteRates,
  type MinuteShares,
  openMinuteShares,
  type TellTaking,
} from "../../src/dispatch/rates/minute-rates.ts";
import { SOLE_HOLDER } from "../../src/state/holders.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import {
  AT,
  type At,
  type CommitFault,
  FAULT,
  HEAR,
  HearingNode,
  type HearStep,
  play,
  stepsOf,
} from "../support/hearing-nodes.ts";

const ACCOUNTS = ["x", "y"] as const;

type Step =
  | { readonly kind: "take"; readonly at: At; readonly account: string }
  | { readonly kind: "renew"; readonly at: At; readonly fault: CommitFault }
  | HearStep
  | { readonly kind: "restart"; readonly at: At }
  | { readonly kind: "wait"; readonly ms: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ kind: fc.constant("take" as const), at: AT, account: fc.constantFrom(...ACCOUNTS) },
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("renew" as const), at: AT, fault: FAULT }),
  },
  { weight: 3, arbitrary: HEAR },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), at: AT }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(1, 61_000) }),
  },
);

const [FIRST, SECOND] = [fc.constant<At>(0), fc.constant<At>(1)];
const account = fc.constantFrom(...ACCOUNTS);
const STEP_OF_ONE: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("take" as const), at: FIRST, account }),
  fc.record({ kind: fc.constant("renew" as const), at: FIRST, fault: FAULT }),
  fc.record({ kind: fc.constant("hear" as const), at: SECOND, isMuch: fc.constant(false) }),
);

/** A life of a node, and how often it has counted what the other one gave. */
interface Counting {
  readonly shares: MinuteShares;
  readonly took: TellTaking;
  readonly heard: Map<string, number>;
  isAlive: boolean;
}

class World {
  readonly clock = { at: 0 };
  readonly store = createMemoryStore();
  readonly nodes: readonly [HearingNode<Counting>, HearingNode<Counting>];
  readonly wrong: string[] = [];
  /** By node and account, all that was ever given. */
  readonly #given: readonly [Map<string, number>, Map<string, number>] = [new Map(), new Map()];
  #processes = 0;

  readonly #pause: () => Promise<unknown>;

  constructor(pause: () => Promise<unknown>, maxAccounts: number) {
    this.#pause = pause;
    const make = (at: At) =>
      new HearingNode<Counting>(this.store, {
        pause,
        open: async (store) => {
          this.#processes += 1;
          const rates = new MinuteRates();
          const heard = new Map<string, number>();
          const counting = { isAlive: true };
          const took = rates.join({
            add: (account, count) => {
              const sum = (heard.get(account) ?? 0) + count;
              heard.set(account, sum);
              const given = this.#given[at === 0 ? 1 : 0].get(account) ?? 0;
              if (sum > given) this.wrong.push(`${sum} of ${given} of ${account} at ${at}`);
            },
          });
          const shares = await openMinuteShares(store, {
            ...{ rates, maxAccounts, now: () => this.clock.at },
            holders: { ...SOLE_HOLDER, self: `p-${this.#processes}` },
            onFault: (error) => void this.wrong.push(String(error)),
          });
          if (shares === undefined) throw new Error("there are no shares");
          // The test renews them itself.
          shares.close();
          return Object.assign(counting, { shares, took, heard });
        },
      });
    this.nodes = [make(0), make(1)];
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  async run(step: Step): Promise<void> {
    if (step.kind === "wait") {
      this.clock.at += step.ms;
      return;
    }
    const node = this.nodes[step.at];
    if (!node.isServing) return;
    switch (step.kind) {
      case "take": {
        const given = this.#given[step.at];
        given.set(step.account, (given.get(step.account) ?? 0) + 1);
        node.registers.took({ account: step.account, count: 1 });
        return;
      }
      case "renew":
        node.fault = step.fault;
        return node.registers.shares.renew();
      case "hear":
        return node.hear(this.#pause, step.isMuch);
      case "restart":
        return node.start();
    }
  }

  /** Everything is told, and heard. */
  async check(): Promise<void> {
    for (const node of this.nodes) {
      node.fault = "none";
      await node.registers.shares.renew();
    }
    for (const [at, node] of this.nodes.entries()) {
      await node.hear();
      for (const account of ACCOUNTS) {
        const given = this.#given[at === 0 ? 1 : 0].get(account) ?? 0;
        const heard = node.registers.heard.get(account) ?? 0;
        if (heard !== given) this.wrong.push(`${heard} of ${given} of ${account} at ${at} at last`);
      }
    }
  }
}

describe("rates by the minute on two nodes", () => {
  it.each([
    ["both give, and tell of all accounts", STEP, ACCOUNTS.length],
    ["both give, and tell of one account", STEP, 1],
    ["one gives, and tells of one account", STEP_OF_ONE, 1],
  ])("count no turn twice where %s", async (_, step, most) => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(step, 30), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()), most);
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("count every turn, where nobody is killed", async () => {
    const lasting = STEP.filter(({ kind }) => kind !== "restart" && kind !== "wait");
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(lasting, 30), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()), ACCOUNTS.length);
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        const checked = world.check();
        await play(scheduler, [], () => checked);
        await checked;
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });
});
