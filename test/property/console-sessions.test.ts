/**
 * Sessions at the consoles of two nodes, which hear late of each other, are reloaded with other rules and start anew.
 * A person who has signed in at one is signed in at both, and one who has logged out at one is at neither. A session lasts
 * while it is used, ends when it was not for long enough, and is over where nobody has its role any more.
 */
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ConsoleConfig } from "../../src/modules/console/config.ts";
import type { Person } from "../../src/modules/console/person.ts";
import { type SessionRules, Sessions } from "../../src/modules/console/sessions.ts";
import { Collection } from "../../src/state/collection.ts";
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

const MINUTE_MS = 60_000;
const ISSUER = "https://id.example";
const GRANT = { issuer: ISSUER, claim: "groups", value: "desk" };
const PEOPLE: readonly Person[] = [
  { id: "link:nina", name: "Nina", role: "operator", via: "link" },
  { id: `${ISSUER}#otto`, name: "Otto", role: "operator", via: "oidc" },
];

type Step =
  | {
      readonly kind: "begin";
      readonly at: At;
      readonly person: Person;
      readonly fault: CommitFault;
    }
  /** From the last session back. */
  | { readonly kind: "use"; readonly at: At; readonly index: number; readonly fault: CommitFault }
  | { readonly kind: "end"; readonly at: At; readonly index: number; readonly fault: CommitFault }
  | { readonly kind: "sweep" | "restart"; readonly at: At }
  | {
      readonly kind: "reload";
      readonly at: At;
      readonly minutes: number;
      readonly isGranted: boolean;
    }
  | { readonly kind: "wait"; readonly ms: number }
  | HearStep;

const at = AT;
const fault = FAULT;
const index = fc.constantFrom(0, 0, 0, 1, 2);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ kind: fc.constant("begin" as const), at, person: fc.constantFrom(...PEOPLE), fault },
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("use" as const), at, index, fault }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("end" as const), at, index, fault }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sweep" as const), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant("reload" as const), at, minutes: fc.constantFrom(1, 2, 10) },
      isGranted: fc.constantFrom(true, true, false),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1_000, MINUTE_MS / 2, MINUTE_MS, 10 * MINUTE_MS),
    }),
  },
  { weight: 2, arbitrary: HEAR },
);

interface Model {
  readonly token: string;
  readonly person: Person;
  /** As late as each node surely knows the last use to be that nothing disturbed. */
  readonly usedAt: [number, number];
  /** The last of all. */
  triedAt: number;
  isEnded: boolean;
  mayBeEnded: boolean;
}

type Rules = NonNullable<SessionRules["current"]>;

function rulesOf(minutes: number, isGranted: boolean): Rules {
  const oidc = { issuer: ISSUER, roleClaim: "groups", viewers: [], operators: ["desk"] };
  const lists = isGranted ? oidc : { ...oidc, operators: [] };
  return { sessionMinutes: minutes, oidc: lists as unknown as NonNullable<ConsoleConfig["oidc"]> };
}

class World {
  readonly #store = createMemoryStore();
  readonly #rules: readonly [SessionRules, SessionRules] = [
    { current: rulesOf(10, true) },
    { current: rulesOf(10, true) },
  ];
  readonly #nodes: readonly [HearingNode<Sessions>, HearingNode<Sessions>];
  readonly #pause: () => Promise<unknown>;
  readonly #sessions: Model[] = [];
  /** By node, how often its store was to fail. */
  readonly #faults: [number, number] = [0, 0];
  readonly wrong: string[] = [];

  constructor(pause: () => Promise<unknown>) {
    this.#pause = pause;
    const make = (own: At): HearingNode<Sessions> =>
      new HearingNode<Sessions>(this.#store, {
        open: (store) =>
          Sessions.open(
            { collection: (options) => Collection.open(store, options) },
            this.#rules[own],
          ),
        pause,
        everywhere: () => this.#nodes[own === 0 ? 1 : 0].hear(),
      });
    this.#nodes = [make(0), make(1)];
  }

  async start(): Promise<void> {
    for (const node of this.#nodes) await node.start();
  }

  async run(step: Step): Promise<void> {
    if (step.kind === "wait") {
      vi.setSystemTime(Date.now() + step.ms);
      this.#note();
      return;
    }
    const node = this.#nodes[step.at];
    if (step.kind === "hear") {
      return this.#learning(step.at, node.hear(this.#pause, step.isMuch));
    }
    if (!node.isServing) return;
    const { registers: sessions } = node;
    switch (step.kind) {
      case "begin": {
        this.#disturb(step.at, step.fault);
        const { person } = step;
        const usedAt = Date.now();
        const token = await sessions.begin(person, person.via === "oidc" ? GRANT : undefined);
        const model = { token, person, triedAt: usedAt, isEnded: false, mayBeEnded: false };
        this.#sessions.push({ ...model, usedAt: [usedAt, usedAt] });
        this.#note();
        return this.#check();
      }
      case "use":
        return this.#use(step);
      case "end": {
        const one = this.#nth(step.index);
        if (one === undefined) return;
        this.#disturb(step.at, step.fault);
        one.mayBeEnded = true;
        await sessions.end(one.token);
        one.isEnded = true;
        return this.#check();
      }
      case "sweep":
        return sessions.sweep();
      case "restart":
        return this.#learning(step.at, node.start());
      case "reload":
        this.#rules[step.at].current = rulesOf(step.minutes, step.isGranted);
        this.#note();
        return this.#check();
    }
  }

  #disturb(at: At, fault: CommitFault): void {
    this.#nodes[at].fault = fault;
    if (fault !== "none") this.#faults[at] += 1;
  }

  async #use({ at, index, fault }: Extract<Step, { kind: "use" }>): Promise<void> {
    const one = this.#nth(index);
    const node = this.#nodes[at];
    const sessions = node.registers;
    if (one === undefined || sessions.find(one.token) === undefined) return;
    this.#disturb(at, fault);
    const faults = this.#faults[at];
    const now = Date.now();
    one.triedAt = Math.max(one.triedAt, now);
    // When it was used last is known that well.
    const minutes = this.#rules[at].current?.sessionMinutes ?? 0;
    const since = now - Math.min(MINUTE_MS, (minutes * MINUTE_MS) / 4);
    await sessions.touch(one.token);
    // The fault of a later step is of the commit that comes next.
    const isSure = fault === "none" && faults === this.#faults[at];
    if (isSure) one.usedAt[at] = Math.max(one.usedAt[at], since);
  }

  /** A node hears of what the other one knew when it began to. */
  async #learning(at: At, heard: Promise<void>): Promise<void> {
    const other = at === 0 ? 1 : 0;
    const known = this.#sessions.map((one) => [one, one.usedAt[other]] as const);
    await heard;
    for (const [{ usedAt }, time] of known) usedAt[at] = Math.max(usedAt[at], time);
  }

  #check(): void {
    for (const own of [0, 1] as const) {
      if (this.#nodes[own].isServing) for (const one of this.#sessions) this.#judge(own, one);
    }
  }

  #judge(own: At, one: Model): void {
    const { current } = this.#rules[own];
    if (current === undefined) return;
    const isStanding = this.#nodes[own].registers.find(one.token) !== undefined;
    const lifetime = current.sessionMinutes * MINUTE_MS;
    const isGranted = one.person.via === "link" || current.oidc?.operators.length === 1;
    const isOver = one.isEnded || !isGranted || one.triedAt + lifetime <= Date.now();
    const said = `${one.person.name}'s session is ${isStanding ? "" : "not "}there at ${own}`;
    if (isStanding && isOver) this.wrong.push(said);
    if (!isStanding && !one.mayBeEnded) this.wrong.push(said);
  }

  /** Notes what is over by the rules of some node, each of which may end it for good. */
  #note(): void {
    for (const own of [0, 1] as const) {
      const { current } = this.#rules[own];
      if (current === undefined) continue;
      const lifetime = current.sessionMinutes * MINUTE_MS;
      for (const one of this.#sessions) {
        const isGranted = one.person.via === "link" || current.oidc?.operators.length === 1;
        if (!isGranted || one.usedAt[own] + lifetime <= Date.now()) one.mayBeEnded = true;
      }
    }
  }

  async end(): Promise<void> {
    for (const own of [0, 1] as const) await this.#learning(own, this.#nodes[own].hear());
    this.#check();
  }

  #nth(index: number): Model | undefined {
    return this.#sessions.at(-1 - (index % Math.max(1, this.#sessions.length)));
  }
}

afterEach(() => {
  vi.useRealTimers();
});

describe("sessions at the consoles of two nodes", () => {
  it("are the same at both, last while they are used, and end when somebody logs out", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 25), async (scheduler, steps) => {
        vi.setSystemTime(1_800_000_000_000);
        const world = new World(() => scheduler.schedule(Promise.resolve()));
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        await world.end();
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
