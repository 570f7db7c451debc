/**
 * Contracts on two nodes, whose commits come late, fail before or after they are made, and which are killed between
 * any two steps: what is over never comes back, and once that was answered nobody can call it anywhere.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Contract, ContractState } from "../../src/endpoint/contract.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { ContractRegister, isOpen } from "../../src/state/registers/contract-register.ts";
import type { Store } from "../../src/state/store.ts";
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
import { alterStore } from "../support/store.ts";

const AGENT = "a".repeat(64);
const LIFETIME = 100;
const TOMBSTONE = 50;

type Moved = Exclude<ContractState, "offered" | "expired">;
type Step =
  | {
      readonly kind: "add";
      readonly at: At;
      readonly isOffer: boolean;
      readonly fault: CommitFault;
    }
  | {
      readonly kind: "move";
      readonly at: At;
      readonly index: number;
      readonly state: Moved;
      readonly fault: CommitFault;
    }
  | { readonly kind: "evict"; readonly at: At; readonly index: number; readonly fault: CommitFault }
  | HearStep
  | { readonly kind: "restart"; readonly at: At }
  | { readonly kind: "wait"; readonly ms: number };

/** From the last one back. */
const index = fc.constantFrom(0, 0, 0, 1, 2);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("add" as const),
      at: AT,
      isOffer: fc.boolean(),
      fault: FAULT,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ kind: fc.constant("move" as const), at: AT, index, fault: FAULT },
      state: fc.constantFrom<Moved>("active", "active", "revoked", "released"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("evict" as const), at: AT, index, fault: FAULT }),
  },
  {
    weight: 2,
    arbitrary: HEAR,
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("restart" as const), at: AT }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1, LIFETIME / 2, LIFETIME),
    }),
  },
);

class World {
  readonly clock = { at: 1_000 };
  readonly store = createMemoryStore();
  readonly nodes: readonly [HearingNode<ContractRegister>, HearingNode<ContractRegister>];
  readonly wrong: string[] = [];
  readonly ids: string[] = [];
  #made = 0;
  /** Those that somebody was told are over, or gone. */
  readonly #over = new Set<string>();
  readonly #gone = new Set<string>();

  constructor(pause: () => Promise<unknown>) {
    const make = (own: At) =>
      new HearingNode<ContractRegister>(
        alterStore(this.store, { commit: (...args) => this.#commit(...args) }),
        {
          open: (store) =>
            ContractRegister.open({
              store,
              tombstoneMs: TOMBSTONE,
              now: () => this.clock.at,
            }),
          pause,
          everywhere: () => this.nodes[own === 0 ? 1 : 0].hear(),
        },
      );
    this.nodes = [make(0), make(1)];
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  /** A contract that is over stays so. */
  async #commit(...args: Parameters<Store["commit"]>): ReturnType<Store["commit"]> {
    const before = new Map<string, Contract | undefined>();
    const [changes] = args;
    for (const { key } of changes) {
      before.set(key, (await this.store.get("contracts", key)) as Contract | undefined);
    }
    const outcome = await this.store.commit(...args);
    if (outcome.kind !== "committed") return outcome;
    for (const change of changes) {
      const [was, is] = [
        before.get(change.key),
        change.kind === "put" ? (change.value as Contract) : undefined,
      ];
      if (was !== undefined && is !== undefined && !isOpen(was)) {
        this.wrong.push(`${change.key} was ${was.state} and is ${is.state}`);
      }
      if (was?.state === "active" && is?.state === "offered")
        this.wrong.push("it is offered again");
      if (was === undefined && is !== undefined && this.#gone.has(change.key)) {
        this.wrong.push(`${change.key} has come back`);
      }
    }
    return outcome;
  }

  #nth(step: { readonly index: number }): string {
    return this.ids.at(-1 - (step.index % Math.max(1, this.ids.length))) ?? "none";
  }

  async run(step: Step): Promise<void> {
    if (step.kind === "wait") {
      this.clock.at += step.ms;
      return;
    }
    const node = this.nodes[step.at];
    if (!node.isServing) return;
    const { registers: register } = node;
    switch (step.kind) {
      case "add": {
        this.#made += 1;
        const id = `syn-${this.#made}`;
        const contract = draft(id, this.clock.at, step.isOffer ? "offered" : "active");
        node.fault = step.fault;
        await register.add(contract);
        this.ids.push(id);
        for (const { registers } of this.nodes) {
          const { kind } = registers.present(id, AGENT);
          const isTime = contract.expiresAt > this.clock.at;
          if (kind !== "usable" && isTime) this.wrong.push(`${id} was added, and is ${kind}`);
        }
        return;
      }
      case "move": {
        const id = this.#nth(step);
        node.fault = step.fault;
        const { contract } = await register.change(id, step.state);
        if (contract !== undefined && !isOpen(contract)) this.#over.add(id);
        return this.#check();
      }
      case "evict": {
        const id = this.#nth(step);
        node.fault = step.fault;
        await register.evict([id]);
        this.#over.add(id);
        this.#gone.add(id);
        return this.#check();
      }
      case "hear":
        return node.hear(this.pause, step.isMuch);
      case "restart":
        return node.start();
    }
  }

  pause: () => Promise<unknown> = () => Promise.resolve();

  #check(): void {
    for (const [own, { registers }] of this.nodes.entries()) {
      for (const id of this.#over) {
        if (registers.present(id, AGENT).kind === "usable")
          this.wrong.push(`${id} is called at ${own}`);
      }
    }
  }

  async check(): Promise<void> {
    this.#check();
    const kept = await this.store.list("contracts");
    const stored = kept.map(({ value }) => value as Contract);
    for (const [own, { registers }] of this.nodes.entries()) {
      for (const one of stored) {
        const { expiresAt, synthesisId } = one;
        const isKnown = expiresAt + TOMBSTONE >= this.clock.at;
        const state = isOpen(one) && expiresAt <= this.clock.at ? "expired" : one.state;
        const found = registers.find(synthesisId)?.state;
        if (found !== (isKnown ? state : undefined))
          this.wrong.push(`${synthesisId} is ${found} at ${own}`);
      }
      for (const id of this.#gone) {
        if (registers.find(id) !== undefined) this.wrong.push(`${id} is known at ${own}`);
      }
      const open = [...registers.eachOpen()].map(({ synthesisId }) => synthesisId);
      const wanted = stored.filter((one) => isOpen(one) && one.expiresAt > this.clock.at);
      if (
        String(open.toSorted()) !== String(wanted.map(({ synthesisId }) => synthesisId).toSorted())
      ) {
        this.wrong.push(`${own} has ${open}`);
      }
    }
  }
}

function draft(id: string, now: number, state: "offered" | "active"): Contract {
  const endpoint = { method: "BOOK", path: "/suite" } as Contract["endpoint"];
  return {
    ...{ synthesisId: id, agentId: AGENT, endpoint, state },
    plan: { name: "suite", version: "1", steps: [], aggregation: "last" },
    ...{ lineage: undefined, contractHash: "0".repeat(64), origin: "propose" },
    ...{ sessionId: undefined, isPersistent: false, issuedAt: now, expiresAt: now + LIFETIME },
  };
}

describe("contracts on two nodes", () => {
  it("are over everywhere once that was answered, and stay so", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 25), async (scheduler, steps) => {
        const pause = () => scheduler.schedule(Promise.resolve());
        const world = new World(pause);
        world.pause = pause;
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        for (const node of world.nodes) await node.hear();
        await world.check();
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });
});
