/**
 * Requests under Idempotency-Keys on two nodes, begun in any order, whose commits come late, fail before or after
 * they are made, and whose nodes are killed between any two steps: no request is executed twice while its key is
 * remembered, and nobody gets a reply but the one to the same request.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import {
  type IdempotencyOptions,
  IdempotencyRegister,
} from "../../src/state/registers/idempotency-register.ts";
import type { IdempotentExecution } from "../../src/state/registers/idempotent-execution.ts";
import type { KeptResponse } from "../../src/state/registers/kept-response.ts";
import type { Change, Store } from "../../src/state/store.ts";
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
const DAY_MS = 24 * 3_600_000;

type End = "answer" | "not-kept" | "release" | "abandon";

type Step =
  | {
      readonly kind: "ask";
      readonly at: At;
      readonly key: string;
      readonly fingerprint: string;
      readonly fault: CommitFault;
    }
  | {
      readonly kind: "end";
      /** Of those that run, from the last one back. */
      readonly index: number;
      readonly end: End;
      readonly fault: CommitFault;
    }
  | HearStep
  | { readonly kind: "restart"; readonly at: At }
  | { readonly kind: "wait"; readonly ms: number };

const ASK = fc.record({
  kind: fc.constant("ask" as const),
  at: AT,
  key: fc.constantFrom("k", "k", "k", "l", "m"),
  fingerprint: fc.constantFrom("f", "f", "f", "g"),
  fault: FAULT,
});
const END = fc.record({
  kind: fc.constant("end" as const),
  index: fc.nat(2),
  end: fc.constantFrom<End>("answer", "answer", "answer", "not-kept", "release", "abandon"),
  fault: FAULT,
});
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: ASK },
  { weight: 5, arbitrary: END },
  {
    weight: 2,
    arbitrary: HEAR,
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), at: AT }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1, 3_600_000, DAY_MS),
    }),
  },
);

type Ending = Pick<Extract<Step, { kind: "end" }>, "end" | "fault">;

/** A handler that was called. */
interface Effect {
  readonly id: number;
  readonly key: string;
  readonly fingerprint: string;
  readonly at: number;
  readonly node: At;
  readonly life: number;
  isRunning: boolean;
  /** Ends its handler. */
  readonly finish: (how: Ending) => void;
  isEnding: boolean;
  isAnswered: boolean;
  /** It gave its key back. */
  isFree: boolean;
  readonly entry: Entry;
}

/** An entry of a key that was begun. */
interface Entry {
  /** It made room for others. */
  isGone: boolean;
}

class World {
  readonly clock = { at: 1_000_000 };
  readonly effects: Effect[] = [];
  readonly asked: Set<string> = new Set();
  readonly nodes: readonly [HearingNode<IdempotencyRegister>, HearingNode<IdempotencyRegister>];
  readonly #pause: () => Promise<unknown>;
  readonly store: Store = createMemoryStore();
  readonly wrong: string[] = [];
  /** The entries that there are by key, and those that were begun last by node and key. */
  readonly #entries = new Map<string, Entry>();
  readonly #begun = new Map<string, Entry>();
  /** By node, the requests under way. */
  readonly #asking: [number, number] = [0, 0];

  constructor(pause: () => Promise<unknown>, limits: IdempotencyOptions["limits"]) {
    this.#pause = pause;
    const now = (): number => this.clock.at;
    const make = (at: At) =>
      new HearingNode(alterStore(this.store, { commit: (...args) => this.#commit(at, ...args) }), {
        open: (store) => IdempotencyRegister.open(store, { ...(limits && { limits }), now }),
        pause,
      });
    this.nodes = [make(0), make(1)];
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  /** Notes which keys make room for others. */
  async #commit(at: At, ...args: Parameters<Store["commit"]>): ReturnType<Store["commit"]> {
    const outcome = await this.store.commit(...args);
    if (outcome.kind !== "committed") return outcome;
    const [changes] = args;
    const own = changes.filter(({ collection }) => collection === "idempotency");
    const written = own.find(({ kind }) => kind === "put");
    for (const change of own) {
      if (change.kind !== "delete") continue;
      const isRoom = written !== undefined;
      if (!isRoom) continue;
      const entry = this.#entries.get(keyOf(change));
      if (entry !== undefined) entry.isGone = true;
      for (const one of this.#liveOf(keyOf(change))) {
        if (one.node === at && one.isRunning && one.life === this.nodes[at].life) {
          this.wrong.push(`${one.key} of #${one.id} was taken from it`);
        }
      }
    }
    if (written?.kind === "put" && (written.value as { state: string }).state === "running") {
      const entry = { isGone: false };
      this.#entries.set(keyOf(written), entry);
      this.#begun.set(`${at} ${keyOf(written)}`, entry);
    }
    return outcome;
  }

  #liveOf(key: string): readonly Effect[] {
    return this.effects.filter((one) => {
      const isForgotten = !one.isRunning && one.at + DAY_MS - 1 < this.clock.at;
      return one.key === key && !one.isFree && !one.entry.isGone && !isForgotten;
    });
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "ask":
        return this.#counted(step);
      case "end": {
        const running = this.effects.filter((one) => one.isRunning && !one.isEnding);
        const one = running.at(-1 - (step.index % Math.max(1, running.length)));
        if (one !== undefined) one.isEnding = true;
        return one?.finish(step);
      }
      case "hear":
        return this.nodes[step.at].hear(this.#pause, step.isMuch);
      case "restart":
        for (const one of this.effects) if (one.node === step.at) one.isRunning = false;
        this.#asking[step.at] = 0;
        return this.nodes[step.at].start();
      case "wait":
        // Nothing runs for a day.
        if (step.ms === DAY_MS && this.#asking.some((count) => count > 0)) return;
        this.clock.at += step.ms;
    }
  }

  async #counted(step: Extract<Step, { kind: "ask" }>): Promise<void> {
    const { at } = step;
    const { life } = this.nodes[at];
    this.#asking[at] += 1;
    try {
      await this.#ask(step);
    } finally {
      if (this.nodes[at].life === life) this.#asking[at] -= 1;
    }
  }

  async #ask(step: Extract<Step, { kind: "ask" }>): Promise<void> {
    const { at, key, fingerprint } = step;
    const node = this.nodes[at];
    if (!node.isServing) return;
    const { life } = node;
    this.asked.add(`${key} ${fingerprint}`);
    for (let tries = 0; tries < 5; tries += 1) {
      // Requests of one millisecond under a key that has made room in between are not told apart.
      this.clock.at += 1;
      const claim = node.registers.claim({ agentId: AGENT, key, fingerprint });
      switch (claim.kind) {
        case "claimed":
          node.fault = step.fault;
          if (!(await claim.execution.begin())) continue;
          return this.#execute(step, claim.execution, life);
        case "running": {
          const outcome = await claim.execution.wait(new AbortController().signal);
          if (outcome?.kind === "answered") this.#got(step, outcome.response);
          return;
        }
        case "answered": {
          const response = await claim.response;
          if (response !== undefined) this.#got(step, response);
          return;
        }
        case "unknown":
          return;
        case "taken":
          if (!["f", "g"].some((one) => one !== fingerprint && this.asked.has(`${key} ${one}`))) {
            this.wrong.push(`nobody asked for anything else under ${key}`);
          }
          return;
      }
    }
    this.wrong.push("it never comes to an end");
  }

  #got({ key, fingerprint }: Extract<Step, { kind: "ask" }>, { text }: KeptResponse): void {
    const effect = this.effects[Number(text)];
    if (effect?.key !== key || effect.fingerprint !== fingerprint) {
      this.wrong.push(`${key} ${fingerprint} got the reply of #${text}`);
    } else if (!effect.isAnswered) this.wrong.push(`#${text} has no reply`);
  }

  /** Every reply that is kept is the one to the request that has the key. */
  async check(): Promise<void> {
    for (const { key, value } of await this.store.list("idempotency")) {
      const { state, bytes, fingerprint } = value as Record<string, unknown>;
      const kept = (await this.store.get("idempotency-responses", key)) as KeptResponse | undefined;
      if ((kept !== undefined) !== (state === "answered" && bytes !== 0)) {
        this.wrong.push(`${key} is ${state}, and has ${kept === undefined ? "no" : "a"} reply`);
      }
      const one = this.effects[Number(kept?.text)];
      if (kept !== undefined && one?.fingerprint !== fingerprint) {
        this.wrong.push(`${key} of ${fingerprint} has the reply to ${one?.fingerprint}`);
      }
    }
  }

  async #execute(
    { at, key, fingerprint }: Extract<Step, { kind: "ask" }>,
    execution: IdempotentExecution,
    life: number,
  ): Promise<void> {
    const node = this.nodes[at];
    const entry = this.#begun.get(`${at} ${key}`) ?? { isGone: true };
    const others = entry.isGone ? [] : this.#liveOf(key);
    for (const one of others) this.wrong.push(`#${one.id} has ${key}, and it ran again`);
    const id = this.effects.length;
    let finish: (how: Ending) => void = () => undefined;
    const finished = new Promise<Ending>((resolve) => {
      finish = resolve;
    });
    const effect: Effect = {
      finish,
      ...{ id, key, fingerprint, at: this.clock.at, node: at, life },
      ...{ isRunning: true, isEnding: false, isAnswered: false, isFree: false },
      entry,
    };
    this.effects.push(effect);
    const { end, fault } = await finished;
    if (node.life !== life) return;
    node.fault = fault;
    const response = { status: 200, contentType: "text/plain", text: String(id) };
    switch (end) {
      case "answer":
      case "not-kept":
        effect.isAnswered = true;
        await execution.answer(response, end === "answer").finally(() => {
          effect.isRunning = false;
        });
        return;
      case "release":
        effect.isFree = true;
        effect.isRunning = false;
        return execution.release();
      case "abandon":
        execution.abandon();
        effect.isRunning = false;
        return;
    }
  }
}

function keyOf({ key }: Change): string {
  return key.slice(key.indexOf("/") + 1);
}

describe.each([
  ["many", undefined],
  ["few", { keysPerAgent: 2, bytesPerAgent: 150 }],
] as const)("requests under %s Idempotency-Keys on two nodes", (_, limits) => {
  it("are executed once, and have their own replies", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 25), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()), limits);
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        await world.check();
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 250 },
    );
  });
});
