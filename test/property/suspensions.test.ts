/**
 * Sessions that two nodes suspend, resume and end, each late to hear of the other, with commits that fail and nodes
 * that are killed: nothing is done in a session that is answered to be halted, each nonce works once, and what is over
 * stays so.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { Suspension } from "../../src/state/registers/suspension.ts";
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
const LIFETIME = 100;

type Step =
  | {
      readonly kind: "suspend" | "end";
      readonly at: At;
      readonly session: string;
      readonly fault: CommitFault;
    }
  | {
      readonly kind: "resume";
      readonly at: At;
      readonly index: number;
      readonly fault: CommitFault;
    }
  | HearStep
  | { readonly kind: "restart" | "sweep"; readonly at: At }
  | { readonly kind: "wait"; readonly ms: number };

const session = fc.constantFrom("s", "s", "t");
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...{ kind: fc.constant("suspend" as const), at: AT, session, fault: FAULT },
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant("end" as const), at: AT, session, fault: FAULT },
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      ...{ kind: fc.constant("resume" as const), at: AT, fault: FAULT },
      // From the last one back.
      index: fc.constantFrom(0, 0, 0, 1, 2),
    }),
  },
  {
    weight: 2,
    arbitrary: HEAR,
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("restart" as const, "sweep" as const), at: AT }),
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
  readonly nodes: readonly [HearingNode<SuspensionRegister>, HearingNode<SuspensionRegister>];
  readonly wrong: string[] = [];
  /** The suspensions that their agent was told of. */
  readonly #suspended: { readonly id: string; readonly session: string; readonly nonce: string }[] =
    [];
  readonly #resuming = new Set<string>();
  readonly #resumed = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #pause: () => Promise<unknown>;

  constructor(pause: () => Promise<unknown>) {
    this.#pause = pause;
    const make = (own: At) =>
      new HearingNode<SuspensionRegister>(this.store, {
        open: (store) => SuspensionRegister.open(store, { now: () => this.clock.at }),
        pause,
        everywhere: () => this.nodes[own === 0 ? 1 : 0].hear(),
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
    const { registers: register } = node;
    switch (step.kind) {
      case "suspend": {
        const resumeBy = this.clock.at + LIFETIME;
        const halted = { sessionId: step.session, agentId: AGENT, resumeBy };
        node.fault = step.fault;
        const halting = await register.suspend(halted, { step: 1 });
        if (halting.kind !== "halted") return;
        const { nonce, suspension } = halting;
        this.#suspended.push({ id: suspension.suspensionId, session: step.session, nonce });
        return this.#check();
      }
      case "end": {
        node.fault = step.fault;
        const { kind } = await register.end({ sessionId: step.session, agentId: AGENT });
        if (kind !== "full") this.#ended.add(step.session);
        return this.#check();
      }
      case "resume": {
        const one = this.#suspended.at(-1 - (step.index % Math.max(1, this.#suspended.length)));
        if (one === undefined) return;
        this.#resuming.add(one.id);
        node.fault = step.fault;
        const asked = { agentId: AGENT, nonce: one.nonce, isAdmitted: () => true };
        const outcome = await register.resume(asked);
        if (outcome.kind !== "resumed") return;
        if (this.#resumed.has(one.id)) this.wrong.push(`${one.id} is resumed twice`);
        this.#resumed.add(one.id);
        if (outcome.checkpoint === undefined) this.wrong.push(`${one.id} has lost its checkpoint`);
        for (const [own, { registers }] of this.nodes.entries()) {
          const hold = registers.holdOf(one.session);
          if (hold?.suspensionId === one.id)
            this.wrong.push(`${one.id} is ${hold.state} at ${own}`);
        }
        return this.#check();
      }
      case "hear":
        return node.hear(this.#pause, step.isMuch);
      case "restart":
        return node.start();
      case "sweep":
        return register.sweep(() => Promise.resolve());
    }
  }
  #check(): void {
    for (const [own, { registers }] of this.nodes.entries()) {
      for (const { id, session } of this.#suspended) {
        if (!this.#resuming.has(id) && registers.holdOf(session) === undefined)
          this.wrong.push(`${session} is used at ${own}`);
      }
      for (const session of this.#ended) {
        const { state } = registers.holdOf(session) ?? {};
        if (state !== "ended" && state !== "expired")
          this.wrong.push(`${session} is ${state} at ${own}, and over`);
      }
    }
  }

  async check(): Promise<void> {
    this.#check();
    const kept = await this.store.list("suspended-sessions");
    const stored = kept.flatMap(({ key, value }) => {
      return key.startsWith("!") ? [] : [value as Suspension];
    });
    for (const session of ["s", "t"]) {
      const own = stored.filter(
        ({ sessionId, state }) => sessionId === session && state !== "resumed",
      );
      if (own.length > 1) this.wrong.push(`${session} is held ${own.length} times`);
      const held = this.nodes.map(({ registers }) => registers.holdOf(session)?.suspensionId);
      const [only] = own;
      if (held.some((id) => id !== only?.suspensionId)) this.wrong.push(`${session}: ${held}`);
    }
    const waiting = stored.filter(({ state, nonceHash }) => state === "suspended" && nonceHash);
    const checkpoints = await this.store.list("session-checkpoints");
    const left = checkpoints.map(({ key }) => key);
    if (String(left) !== String(waiting.map(({ suspensionId }) => suspensionId).toSorted()))
      this.wrong.push(`checkpoints: ${left}`);
  }
}

describe("sessions on two nodes", () => {
  it("are halted, go on and are over everywhere once that was answered", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 25), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()));
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        for (const node of world.nodes) await node.hear();
        await world.check();
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
