/**
 * The life of an agent that two nodes change, each late to hear of the other, with commits that fail and nodes that
 * are killed: every event of its chain is in its stream once, and it stands where its chain says.
 */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { FLOOR_GROUPS } from "../../src/catalog/catalog.ts";
import type { AgentDocument, AgentStatus } from "../../src/identity/agent-document.ts";
import type { JournalRecord } from "../../src/state/journal/journal.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { LifecycleMethod } from "../../src/state/registers/lifecycle.ts";
import { LifecycleRegister } from "../../src/state/registers/lifecycle-register.ts";
import {
  AT,
  type At,
  type CommitFault,
  FAULT,
  HEAR,
  HearingNode,
  type HearStep,
  play,
  runAll,
  stepsOf,
} from "../support/hearing-nodes.ts";
import { sha256 } from "../support/records.ts";

const AGENT = { agentId: "a".repeat(64), status: "active" } as AgentDocument;

type Step =
  | {
      readonly kind: "change";
      readonly at: At;
      readonly method: LifecycleMethod;
      readonly fault: CommitFault;
    }
  | { readonly kind: "append"; readonly at: At; readonly fault: CommitFault }
  | HearStep
  | { readonly kind: "restart" | "replay" | "save"; readonly at: At }
  | { readonly kind: "wait"; readonly ms: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ kind: fc.constant("change" as const), at: AT, fault: FAULT },
      method: fc.constantFrom(...FLOOR_GROUPS.lifecycle, "DEACTIVATE", "REINSTATE", "DEPRECATE"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("append" as const), at: AT, fault: FAULT }),
  },
  {
    weight: 1,
    arbitrary: HEAR,
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("restart" as const, "replay" as const, "save" as const),
      at: AT,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(1, 5) }),
  },
);

interface Link {
  readonly record: JournalRecord;
  readonly status: AgentStatus | undefined;
  readonly at: number;
}

class World {
  readonly store = createMemoryStore();
  readonly clocks: [number, number];
  readonly chain: Link[] = [];
  readonly nodes: readonly [HearingNode<LifecycleRegister>, HearingNode<LifecycleRegister>];
  readonly wrong: string[] = [];
  readonly #pause: () => Promise<unknown>;

  constructor(pause: () => Promise<unknown>, skew: number) {
    this.#pause = pause;
    this.clocks = [1_000, 1_000 + skew];
    const make = (own: At) =>
      new HearingNode<LifecycleRegister>(this.store, {
        open: (store) => LifecycleRegister.open(store, this.#records()),
        pause,
        everywhere: () => this.nodes[own === 0 ? 1 : 0].hear(),
      });
    this.nodes = [make(0), make(1)];
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  #records(): readonly JournalRecord[] {
    return this.chain.map(({ record }) => record);
  }

  get expected(): AgentStatus {
    const led = this.chain.flatMap(({ status }) => status ?? []);
    return led.includes("retired") ? "retired" : (led.at(-1) ?? "active");
  }

  #record(own: At, extension: Readonly<Record<string, unknown>>): JournalRecord {
    const last = this.chain.at(-1)?.at ?? 0;
    const at = Math.max(this.clocks[own], last + 1);
    const payload = {
      ...{ agent_id: AGENT.agentId, issued_at: new Date(at).toISOString(), n: this.chain.length },
      ...extension,
    };
    const encode = (part: object): string =>
      Buffer.from(JSON.stringify(part)).toString("base64url");
    const jws = `${encode({ alg: "none" })}.${encode(payload)}.`;
    const record = { auditId: sha256(jws), jws };
    const status = extension["new_status"] as AgentStatus | undefined;
    this.chain.push({ record, at, status });
    return record;
  }

  async run(step: Step): Promise<void> {
    if (step.kind === "wait") {
      this.clocks[0] += step.ms;
      this.clocks[1] += step.ms;
      return;
    }
    const { kind, at: own } = step;
    const node = this.nodes[own];
    if (!node.isServing) return;
    const { life } = node;
    switch (kind) {
      case "change": {
        await node.registers.apply({
          method: step.method,
          agent: AGENT,
          details: {},
          record: async (extension) => {
            await this.#pause();
            if (node.life !== life) return new Promise(() => undefined);
            const record = this.#record(own, extension);
            await this.#pause();
            if (node.life !== life) return new Promise(() => undefined);
            node.fault = step.fault;
            return record;
          },
        });
        if (step.method === "REVOKE") {
          for (const { registers } of this.nodes) {
            if (registers.statusOf(AGENT) !== "retired")
              this.wrong.push("a revoked agent is served");
          }
        }
        return;
      }
      case "append": {
        const record = this.#record(own, { event_type: "rcns_release" });
        await this.#pause();
        if (node.life !== life) return;
        node.fault = step.fault;
        return node.registers.append(record);
      }
      case "hear":
        return node.hear(this.#pause, step.isMuch);
      case "restart":
        return node.start();
      case "replay":
        return node.registers.replay(this.#records());
      case "save":
        return node.registers.save();
    }
  }

  async check(name: string): Promise<void> {
    for (const [index, { registers }] of this.nodes.entries()) {
      const status = registers.statusOf(AGENT);
      if (status !== this.expected) {
        this.wrong.push(`${name}: ${index} says ${status}, and not ${this.expected}`);
      }
    }
    const stream = await this.nodes[0].registers.events(AGENT.agentId, 1_000);
    const ids = stream.map(({ auditId }) => auditId);
    if (new Set(ids).size !== ids.length) this.wrong.push(`${name}: an event is there twice`);
    if (new Set(ids).size !== this.chain.length) {
      this.wrong.push(`${name}: ${new Set(ids).size} events of ${this.chain.length}`);
    }
  }
}

describe("an agent that two nodes change", () => {
  it("stands where its chain says, once all have heard of everything", async () => {
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.scheduler(),
          fc.constantFrom(0, -3, 3),
          stepsOf(STEP, 20),
          async (scheduler, skew, steps) => {
            const world = new World(() => scheduler.schedule(Promise.resolve()), skew);
            await world.start();
            const thrown = await play(scheduler, steps, (step) => world.run(step));
            expect(thrown).toEqual([]);
            for (const node of world.nodes) {
              node.fault = "none";
              void node.registers.save();
              await runAll(scheduler);
            }
            // The next start takes up the rest of a node that was killed.
            void world.nodes[0].start();
            await runAll(scheduler);
            await world.nodes[1].hear();
            await world.check("in the end");
            void world.nodes[1].registers.replay(world.chain.map(({ record }) => record));
            await runAll(scheduler);
            await world.nodes[0].hear();
            await world.check("after a replay");
            expect(world.wrong).toEqual([]);
          },
        ),
        { numRuns: 300 },
      );
    } finally {
      vi.useRealTimers();
    }
  });
});
