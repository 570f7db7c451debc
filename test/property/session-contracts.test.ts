/**
 * Contracts that are made in a session at two nodes while one of them ends it: their commits come late, fail before or
 * after they are made, and either is killed between any two steps. Once the end was answered, and the proposals,
 * nothing that was negotiated for the session can be called.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Contract } from "../../src/endpoint/contract.ts";
import type { NegotiationContext } from "../../src/modules/negotiation/config.ts";
import { keepContract } from "../../src/modules/negotiation/grant-contract.ts";
import { endSessionContracts } from "../../src/modules/tasks/end-session.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { ContractRegister } from "../../src/state/registers/contract-register.ts";
import { SuspensionRegister } from "../../src/state/registers/suspension-register.ts";
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

const AGENT = "a".repeat(64);
const SESSIONS = ["s-1", "s-2"] as const;

type Step =
  | {
      readonly kind: "make" | "end";
      readonly at: At;
      readonly session: (typeof SESSIONS)[number];
      readonly fault: CommitFault;
    }
  | HearStep
  | { readonly kind: "restart"; readonly at: At };

const session = fc.constantFrom(...SESSIONS);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("make" as const), at: AT, session, fault: FAULT }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("end" as const), at: AT, session, fault: FAULT }),
  },
  { weight: 2, arbitrary: HEAR },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), at: AT }) },
);

interface Registers {
  readonly contracts: ContractRegister;
  readonly suspensions: SuspensionRegister;
}

class World {
  readonly store = createMemoryStore();
  readonly nodes: readonly [HearingNode<Registers>, HearingNode<Registers>];
  readonly wrong: string[] = [];
  readonly #pause: () => Promise<unknown>;
  /** Sessions whose end was answered. */
  readonly #over = new Set<string>();
  /** Contracts whose proposal was answered: of another one, of which nobody can tell, the next start takes care. */
  readonly #answered = new Set<string>();
  #made = 0;

  constructor(pause: () => Promise<unknown>) {
    this.#pause = pause;
    const now = (): number => 1_000;
    const make = (own: At) =>
      new HearingNode<Registers>(this.store, {
        open: async (store) => ({
          contracts: await ContractRegister.open({ store, tombstoneMs: 50, now }),
          suspensions: await SuspensionRegister.open(store, { now }),
        }),
        pause,
        everywhere: () => this.nodes[own === 0 ? 1 : 0].hear(),
      });
    this.nodes = [make(0), make(1)];
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  async run(step: Step): Promise<void> {
    const node = this.nodes[step.at];
    if (!node.isServing) return;
    const { contracts, suspensions } = node.registers;
    switch (step.kind) {
      case "make": {
        // As the gates do, before the proposal is evaluated.
        if (suspensions.holdOf(step.session) !== undefined) return;
        node.fault = step.fault;
        this.#made += 1;
        const contract = draft(this.#made, step.session);
        const state = { contracts, suspensions } as NegotiationContext["state"];
        await keepContract({ state } as NegotiationContext, contract);
        this.#answered.add(contract.synthesisId);
        return;
      }
      case "end": {
        node.fault = step.fault;
        const halting = await suspensions.end({ sessionId: step.session, agentId: AGENT });
        if (halting.kind === "full") throw new Error("there is room for it");
        const options = { register: contracts, record: () => Promise.resolve([]) };
        await endSessionContracts(options, halting.suspension);
        this.#over.add(step.session);
        return;
      }
      case "hear":
        return node.hear(this.#pause, step.isMuch);
      case "restart":
        return node.start();
    }
  }

  async check(): Promise<void> {
    const kept = await this.store.list("contracts");
    for (const { value } of kept) {
      const { sessionId = "", state, synthesisId } = value as Contract;
      const isAnswered = this.#over.has(sessionId) && this.#answered.has(synthesisId);
      if (isAnswered && state === "active") {
        this.wrong.push(`${synthesisId} of ${sessionId} is ${state}`);
      }
    }
  }
}

function draft(number: number, sessionId: string): Contract {
  const endpoint = { method: "BOOK", path: `/suite-${number}` } as Contract["endpoint"];
  return {
    ...{ synthesisId: `syn-${number}`, agentId: AGENT, endpoint, state: "active" },
    plan: { name: "suite", version: "1", steps: [], aggregation: "last" },
    ...{ lineage: undefined, contractHash: "0".repeat(64), origin: "propose" },
    ...{ sessionId, isPersistent: false, issuedAt: 1_000, expiresAt: 10_000 },
  };
}

describe("contracts of sessions on two nodes", () => {
  it("are over once the end of their session was answered", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 20), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()));
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        await world.check();
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
