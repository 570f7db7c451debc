/**
 * Session-IDs that agents begin at two nodes, which hear late of each other and are killed: while it is used, a
 * session is one agent's over one certificate, and nobody else is let in.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { SessionRegister } from "../../src/state/registers/session-register.ts";
import {
  AT,
  type At,
  HEAR,
  HearingNode,
  type HearStep,
  play,
  type Steps,
  stepsOf,
} from "../support/hearing-nodes.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const DAY_MS = 24 * 3_600_000;

interface User {
  readonly agentId: string;
  readonly tlsIdentity: string | undefined;
}
type Step =
  | { readonly kind: "use"; readonly at: At; readonly id: string; readonly user: User }
  | HearStep
  | { readonly kind: "restart" | "save"; readonly at: At }
  | { readonly kind: "wait"; readonly ms: number };

const USERS: readonly User[] = [
  { agentId: ALICE, tlsIdentity: "f1" },
  { agentId: ALICE, tlsIdentity: undefined },
  { agentId: BOB, tlsIdentity: "f2" },
];

/** No commit fails: what cannot be stored is its user's all the same. */
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      ...{ kind: fc.constant("use" as const), at: AT, id: fc.constantFrom("s", "s", "t") },
      ...{ user: fc.constantFrom(...USERS) },
    }),
  },
  {
    weight: 2,
    arbitrary: HEAR,
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("restart" as const, "save" as const), at: AT }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1, 600_000, DAY_MS / 2, DAY_MS),
    }),
  },
);

interface Hold {
  readonly user: User;
  /** When it was used last, and that is stored ten minutes late at most. */
  at: number;
  node: At;
}

const LATE_MS = 600_000;

class World {
  readonly clock = { at: 10 * DAY_MS };
  readonly store = createMemoryStore();
  readonly nodes: readonly [HearingNode<SessionRegister>, HearingNode<SessionRegister>];
  readonly wrong: string[] = [];
  readonly #holds = new Map<string, Hold>();
  readonly #pause: () => Promise<unknown>;

  constructor(pause: () => Promise<unknown>) {
    this.#pause = pause;
    const options = {
      now: () => this.clock.at,
      onFault: (error: unknown) => void this.wrong.push(String(error)),
    };
    const make = () =>
      new HearingNode<SessionRegister>(this.store, {
        open: (store) => SessionRegister.open(store, options),
        pause,
      });
    this.nodes = [make(), make()];
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  /** The last uses at a node that is killed may not be stored. */
  async #forgetUses(own: At): Promise<void> {
    const stored = await this.store.list("sessions");
    for (const [id, hold] of this.#holds) {
      const entry = stored.find(({ key }) => key === id)?.value as { lastActivityAt: number };
      if (hold.node === own && entry !== undefined) hold.at = entry.lastActivityAt;
    }
  }

  async run(step: Step): Promise<void> {
    if (step.kind === "wait") {
      this.clock.at += step.ms;
      return;
    }
    const node = this.nodes[step.at];
    if (step.kind === "restart") {
      const started = node.start();
      await this.#forgetUses(step.at);
      return started;
    }
    if (!node.isServing) return;
    if (step.kind === "hear") return node.hear(this.#pause, step.isMuch);
    if (step.kind !== "use") return node.registers.save();
    const { id, user } = step;
    const admission = node.registers.admit(id, { ...user, isHosted: true });
    const begunAt = this.clock.at;
    const { life } = node;
    const isLet = await admission;
    if (life !== node.life) return;
    const name = USERS.indexOf(user);
    const hold = this.#holds.get(id);
    const isHeld = hold !== undefined && this.clock.at - hold.at < DAY_MS - LATE_MS;
    if (isLet && isHeld && hold.user !== user) {
      this.wrong.push(`${id} of ${USERS.indexOf(hold.user)} is used by ${name}`);
    }
    if (isLet && (!isHeld || hold.user === user))
      this.#holds.set(id, { user, at: Math.max(begunAt, hold?.at ?? 0), node: step.at });
  }
}

/** Nothing is under way for long while time passes. */
function quiet(steps: Steps<Step>): Steps<Step> {
  return steps.map(([step, isConcurrent], index) => {
    const isStill = steps[index + 1]?.[0].kind === "wait";
    return [step, isConcurrent && !isStill];
  });
}

describe("sessions that are begun at two nodes", () => {
  it("are one user's each", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 25), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()));
        await world.start();
        const thrown = await play(scheduler, quiet(steps), (step) => world.run(step));
        expect(thrown).toEqual([]);
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
