/**
 * The outbox of webhooks at two nodes whose commits come late, fail before or after they are made, which are killed, and
 * which stand still while the other one takes over, and go on as if nothing had been. What was taken on is delivered
 * until it is over, what is to be sent once is tried once, and what was delivered is sent again by nobody but a node that
 * has not heard of it since it stood still.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WebhookAttempt } from "../../src/modules/delivery/webhook-courier.ts";
import {
  type AttemptOutcome,
  isQueued,
  type WebhookDelivery,
} from "../../src/modules/delivery/webhook-delivery.ts";
import { WebhookOutbox } from "../../src/modules/delivery/webhook-outbox.ts";
import type { Holders } from "../../src/state/holders.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
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
  runAll,
  stepsOf,
} from "../support/hearing-nodes.ts";
import { alterStore } from "../support/store.ts";

const HOUR_MS = 3_600_000;

type Step =
  | {
      readonly kind: "put";
      readonly at: At;
      readonly isOnce: boolean;
      readonly fault: CommitFault;
    }
  /** From the last attempt back. */
  | {
      readonly kind: "answer";
      readonly index: number;
      readonly isTaken: boolean;
      readonly fault: CommitFault;
    }
  | { readonly kind: "restart" | "stand-still" | "go-on"; readonly at: At }
  | { readonly kind: "wait"; readonly ms: number }
  | HearStep;

const at = AT;
const fault = FAULT;
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("put" as const), at, isOnce: fc.boolean(), fault }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ kind: fc.constant("answer" as const), index: fc.nat(2) },
      ...{ isTaken: fc.boolean(), fault },
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("restart" as const, "stand-still", "go-on", "go-on"),
      at,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1_000, 60_000, HOUR_MS / 2),
    }),
  },
  { weight: 3, arbitrary: HEAR },
);

/** An attempt under way. */
interface Attempt extends WebhookAttempt {
  readonly at: At;
  readonly life: number;
  end(outcome: AttemptOutcome): void;
}

interface Timer {
  readonly dueAt: number;
  readonly callback: () => void;
  readonly life: number;
}

/** A node beside its outbox. */
interface Machine {
  readonly timers: Set<Timer>;
  readonly watchers: Set<() => void>;
  isStill: boolean;
  /** Its work that waits for it to go on. */
  readonly waiting: (() => void)[];
  /** It has stood still, and has not heard of anything since. */
  isBehind: boolean;
  /** How often it has stood still. */
  stood: number;
}

class World {
  readonly #clock = { at: 1_000_000 };
  readonly #shared: Store;
  readonly #nodes: readonly [HearingNode<WebhookOutbox>, HearingNode<WebhookOutbox>];
  readonly #machines: readonly [Machine, Machine] = [newMachine(), newMachine()];
  readonly #attempts: Attempt[] = [];
  readonly #pause: () => Promise<unknown>;
  readonly #delivered = new Set<string>();
  readonly #tried = new Map<string, number>();
  readonly #taken = new Set<string>();
  /** Those whose putting was answered. */
  readonly #put = new Map<string, { readonly isOnce: boolean }>();
  #made = 0;
  readonly wrong: string[] = [];

  constructor(pause: () => Promise<unknown>) {
    this.#pause = pause;
    const store = createMemoryStore();
    this.#shared = alterStore(store, {
      commit: async (...args) => {
        const outcome = await store.commit(...args);
        if (outcome.kind === "committed") for (const change of args[0]) this.#note(change);
        return outcome;
      },
    });
    this.#nodes = [this.#make(0), this.#make(1)];
  }

  #note(change: Parameters<Store["commit"]>[0][number]): void {
    if (change.collection !== "webhook-deliveries" || change.kind !== "put") return;
    const { id, state } = change.value as WebhookDelivery;
    if (state === "delivered") this.#delivered.add(id);
  }

  #make(own: At): HearingNode<WebhookOutbox> {
    const machine = this.#machines[own];
    const node: HearingNode<WebhookOutbox> = new HearingNode(this.#shared, {
      open: async (store) => {
        const { life } = node;
        const now = (): number => this.#clock.at;
        const outbox = await WebhookOutbox.open({
          store,
          now,
          holders: this.#holdersOf(own, life),
        });
        if (life !== node.life) return outbox;
        outbox.deliverBy({
          send: (attempt) => this.#send(own, life, attempt),
          log: { info: () => undefined, warn: () => undefined },
          random: () => 1,
          schedule: (callback, afterMs) => {
            const timer = { dueAt: this.#clock.at + afterMs, callback, life };
            machine.timers.add(timer);
            return () => machine.timers.delete(timer);
          },
        });
        return outbox;
      },
      pause: async () => {
        await this.#pause();
        await this.#goingOn(machine);
      },
    });
    return node;
  }

  #holdersOf(own: At, life: number): Holders {
    const self = `${own} ${life}`;
    const isLive = (process: string): boolean =>
      this.#nodes.some((node, one) => process === `${one} ${node.life}` && !this.#isStill(one));
    return {
      self,
      isGone: (process) => process !== self && !isLive(process),
      watch: (onGone) => {
        const { watchers } = this.#machines[own];
        watchers.add(onGone);
        return () => watchers.delete(onGone);
      },
    };
  }

  #isStill(one: number): boolean {
    return this.#machines[one === 0 ? 0 : 1].isStill;
  }

  async #send(own: At, life: number, attempt: WebhookAttempt): Promise<AttemptOutcome> {
    const { id } = attempt;
    const machine = this.#machines[own];
    await this.#goingOn(machine);
    // A process that was killed does nothing more.
    if (life !== this.#nodes[own].life) return new Promise(() => undefined);
    const times = (this.#tried.get(id) ?? 0) + 1;
    this.#tried.set(id, times);
    if (this.#delivered.has(id) && !machine.isBehind) this.wrong.push(`${id} is sent again`);
    if (times > 1 && id.endsWith("once")) this.wrong.push(`${id} is tried ${times} times`);
    return new Promise((resolve) => {
      this.#attempts.push({ ...attempt, at: own, life, end: resolve });
    });
  }

  async start(): Promise<void> {
    for (const node of this.#nodes) await node.start();
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "put":
        return this.#add(step);
      case "answer": {
        const alive = this.#attempts.filter((one) => this.#isAlive(one));
        const one = alive.at(-1 - (step.index % Math.max(1, alive.length)));
        if (one === undefined) return;
        this.#nodes[one.at].fault = step.fault;
        return this.#answer(one, step.isTaken);
      }
      case "wait":
        this.#clock.at += step.ms;
        return this.#fire();
      case "hear":
        return this.#hear(step);
      case "restart":
        return this.#restart(step.at);
      case "stand-still":
        this.#machines[step.at].isStill = true;
        this.#machines[step.at].isBehind = true;
        this.#machines[step.at].stood += 1;
        return this.#tellOfGone(step.at);
      case "go-on":
        this.#goOn(step.at);
        return this.#fire();
    }
  }

  async #goingOn(machine: Machine): Promise<void> {
    while (machine.isStill) await new Promise<void>((resolve) => machine.waiting.push(resolve));
  }

  #goOn(own: At): void {
    const machine = this.#machines[own];
    machine.isStill = false;
    for (const wake of machine.waiting.splice(0)) wake();
  }

  #isAlive({ at: own, life }: Attempt): boolean {
    return this.#nodes[own].life === life && !this.#machines[own].isStill;
  }

  #answer(one: Attempt, isTaken: boolean): void {
    this.#attempts.splice(this.#attempts.indexOf(one), 1);
    if (isTaken) this.#taken.add(one.id);
    one.end(isTaken ? { kind: "taken" } : { kind: "failed", reason: "answered with status 500" });
  }

  async #add({ at: own, isOnce, fault: kind }: Extract<Step, { kind: "put" }>): Promise<void> {
    const node = this.#nodes[own];
    if (!node.isServing || this.#machines[own].isStill) return;
    this.#made += 1;
    const id = `m-${this.#made}-${isOnce ? "once" : "often"}`;
    node.fault = kind;
    const expiresAt = this.#clock.at + 1_000 * HOUR_MS;
    const message = { id, url: "https://desk.example/", body: {}, expiresAt, isOnce };
    if (await node.registers.keep([message], [])) this.#put.set(id, { isOnce });
  }

  async #hear({ at: own, isMuch }: HearStep): Promise<void> {
    const machine = this.#machines[own];
    if (machine.isStill) return;
    const { stood } = machine;
    await this.#nodes[own].hear(this.#pause, isMuch);
    // News that it began to hear before says nothing of the time since.
    if (machine.stood === stood) machine.isBehind = false;
  }

  async #restart(own: At): Promise<void> {
    const machine = this.#machines[own];
    machine.timers.clear();
    machine.watchers.clear();
    const started = this.#nodes[own].start();
    this.#goOn(own);
    await Promise.all([started, this.#tellOfGone(own)]);
    machine.isBehind = false;
  }

  /** The other node learns that a process is gone, long after it has heard of what that one had done. */
  async #tellOfGone(gone: At): Promise<void> {
    const one = gone === 0 ? 1 : 0;
    const other = this.#machines[one];
    if (other.isStill) return;
    const { stood } = other;
    await this.#nodes[one].hear();
    if (other.isStill) return;
    if (other.stood === stood) other.isBehind = false;
    for (const onGone of other.watchers) onGone();
  }

  #fire(): void {
    for (const [own, { timers, isStill }] of this.#machines.entries()) {
      if (isStill) continue;
      for (const timer of [...timers]) {
        if (timer.dueAt > this.#clock.at || !timers.delete(timer)) continue;
        if (timer.life === this.#nodes[own === 0 ? 0 : 1].life) timer.callback();
      }
    }
  }

  /** Everybody goes on and takes what is sent, until nothing more happens. */
  async end(scheduler: fc.Scheduler): Promise<void> {
    for (const own of [0, 1] as const) {
      this.#nodes[own].fault = "none";
      this.#goOn(own);
    }
    await runAll(scheduler);
    for (let round = 0; round < 6; round += 1) {
      for (const own of [0, 1] as const) {
        const heard = this.#nodes[own].hear();
        await runAll(scheduler);
        await heard;
        this.#machines[own].isBehind = false;
      }
      this.#clock.at += HOUR_MS;
      this.#fire();
      await runAll(scheduler);
      for (const one of this.#attempts.filter((each) => this.#isAlive(each))) {
        this.#answer(one, true);
      }
      await runAll(scheduler);
    }
    for (const [id, { isOnce }] of this.#put) {
      for (const { registers } of this.#nodes) {
        const found = registers.find(id);
        const said = `${id} is ${found?.state} after ${this.#tried.get(id) ?? 0} attempts`;
        if (found === undefined || isQueued(found)) this.wrong.push(said);
        else if (!isOnce && found.state !== "delivered") this.wrong.push(said);
        else if (found.state === "delivered" && !this.#taken.has(id)) this.wrong.push(said);
      }
    }
  }
}

function newMachine(): Machine {
  const own = { timers: new Set<Timer>(), watchers: new Set<() => void>(), waiting: [] };
  return { ...own, isStill: false, isBehind: false, stood: 0 };
}

// AGTP "NOTIFY" delivery_guarantee
describe("webhooks of two nodes", () => {
  it("are delivered, once where once was to be enough, and not again", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 25), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()));
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        await world.end(scheduler);
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
