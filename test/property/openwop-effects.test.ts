/**
 * Runs with effects, and gates that several people have to let them through, at two nodes whose commits come late and
 * fail, that are reloaded, killed, and held for gone while they work. A turn of an agent is begun once at most, whatever
 * its node comes to; a run has one end, which whoever cancels it is told; every word that was taken counts once.
 * OpenWOP RFC 0072 §B, "interrupt" approval, AGTP "CONFIRM"
 */
import { channel } from "node:diagnostics_channel";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { Store } from "../../src/state/store.ts";
import { agentFile, configFile } from "../support/deployment.ts";
import type { TestReply, TestRequest } from "../support/dispatch.ts";
import { AGENT, ISSUER, STRANGER } from "../support/genesis.ts";
import {
  AT,
  type At,
  type CommitFault,
  FAULT,
  HEAR,
  type HearStep,
  play,
  stepsOf,
} from "../support/hearing-nodes.ts";
import { makeCertificate } from "../support/hosted-agents.ts";
import { packFiles } from "../support/openwop.ts";
import { node, workflow } from "../support/openwop-workflows.ts";
import { type FilesByName, ServingNodes } from "../support/serving-nodes.ts";
import { askAs, confirmation } from "../support/waiting.ts";

const ALICE = "a".repeat(64);
const OVERSEER = "0".repeat(64);
const FIRST = "vendor.test.pack.first";
const SECOND = "vendor.test.pack.second";
const LEAST_ROUNDS = 3;
const MOST_ROUNDS = 500;
/** A node looks once a minute for runs that nobody has told it of. */
const LOOK_STEP_MS = 6_000;
const GATE_MS = 600_000;
const PEOPLE = [ISSUER, AGENT, STRANGER].map((key) =>
  makeCertificate({ key, notAfter: Date.UTC(2100, 0) }),
);
const FLOWS = ["turns", "gated", "between"] as const;
const SERVED = ["before", "after"] as const;

/** A turn that has begun, and ends when it is told to. */
interface Begun {
  readonly name: string;
  end(): void;
}

const BEGUN = channel("test:effectful-turn");
const TURN = `
import { channel } from "node:diagnostics_channel";
const begun = channel("${String(BEGUN.name)}");
export const turn = ({ agent: { agentId }, task }) =>
  new Promise((resolve) => {
    begun.publish({ name: task + " " + agentId, end: () => resolve({ result: {} }) });
  });
`;

function filesByName(): FilesByName {
  const turn = (id: string, agentId: string) =>
    node(id, "core.agent", {
      agent: { agentId },
      inputs: { task: { type: "variable", variableName: "name" } },
    });
  const gate = node("gate", "core.approvalGate", {
    config: { requiredApprovals: 2, timeoutMs: GATE_MS },
  });
  const nodes = {
    turns: [turn("one", FIRST), turn("two", SECOND)],
    gated: [gate, turn("two", SECOND)],
    between: [turn("one", FIRST), gate, turn("two", SECOND)],
  };
  const variables = [{ name: "name", type: "string", required: true }] as const;
  const flows = FLOWS.map((id) => workflow(id, nodes[id], { variables }));
  const scopes = ["runs:create", "runs:read", "runs:cancel", "approvals:respond", "inspect:all"];
  const operator_certificates = PEOPLE.map(({ spkiFingerprint }) => spkiFingerprint);
  const configOf = (description: string): string =>
    configFile({
      server: { operator: description },
      policies: { identity: { operator_certificates, inspect_acl: "public" } },
      openwop: {
        runtime: { kind: "function", function: "turns.turn", timeout_seconds: 86_400 },
        runs: { duration_seconds: 86_400 },
      },
    });
  const before = {
    "agtp-server.toml": configOf("before"),
    "turns.mjs": TURN,
    "endpoints/.keep": "",
    "agents/alice.agent.json": agentFile({
      ...{ agent_id: ALICE, name: "alice", scopes_accepted: scopes },
    }),
    "agents/overseer.agent.json": agentFile({
      ...{ agent_id: OVERSEER, name: "overseer", scopes_accepted: scopes },
    }),
    ...packFiles({ agents: [{ agentId: FIRST }, { agentId: SECOND }] }),
    ...Object.fromEntries(
      flows.map((flow) => [`agents/openwop/workflows/${flow.id}.json`, JSON.stringify(flow)]),
    ),
  };
  return { before, after: { ...before, "agtp-server.toml": configOf("after") } };
}

type Word = "accepted" | "rejected";

type Step =
  | {
      readonly kind: "start";
      readonly at: At;
      readonly flow: (typeof FLOWS)[number];
      readonly fault: CommitFault;
    }
  | { readonly kind: "end"; readonly index: number }
  /** From the last run back. */
  | {
      readonly kind: "cancel";
      readonly at: At;
      readonly index: number;
      readonly fault: CommitFault;
    }
  | {
      readonly kind: "vote";
      readonly at: At;
      readonly index: number;
      readonly person: number;
      readonly word: Word;
      /** By its escalation, or the run's own path. */
      readonly isQueued: boolean;
      readonly fault: CommitFault;
    }
  | { readonly kind: "restart" | "fall-silent" | "speak"; readonly at: At }
  | { readonly kind: "reload"; readonly at: At; readonly name: (typeof SERVED)[number] }
  | { readonly kind: "wait"; readonly ms: number }
  | HearStep;

const index = fc.constantFrom(0, 0, 1, 2);
const fault = FAULT;
const at = AT;
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ kind: fc.constant("start" as const), at, fault, flow: fc.constantFrom(...FLOWS) },
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("end" as const), index: fc.nat(1) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ kind: fc.constant("vote" as const), at, index, fault },
      ...{ person: fc.nat(PEOPLE.length - 1), isQueued: fc.boolean() },
      word: fc.constantFrom<Word>("accepted", "accepted", "accepted", "rejected"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("cancel" as const), at, index, fault }),
  },
  { weight: 2, arbitrary: HEAR },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ kind: fc.constantFrom("restart" as const, "fall-silent", "speak", "speak"), at },
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant("reload" as const), at, name: fc.constantFrom(...SERVED) },
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant("wait" as const), ms: fc.constantFrom(500, 5_000, GATE_MS / 2) },
    }),
  },
);

/** A run that its caller knows of. */
interface Known {
  readonly runId: string;
  readonly name: string;
  readonly flow: (typeof FLOWS)[number];
  /** Something has happened that may have cut a turn off. */
  isDisturbed: boolean;
  /** Words that were taken, by whose. */
  readonly taken: Map<string, Word>;
  /** Words that were said. */
  readonly said: Set<string>;
  /** The end that whoever cancelled it was told. */
  told: string | undefined;
  isCancelled: boolean;
  /** Nobody knows whether a word or a cancellation was taken. */
  isInDoubt: boolean;
}

interface Event {
  readonly sequence: number;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

const ENDS = new Set(["completed", "failed", "cancelled"]);

class World {
  readonly #nodes: ServingNodes;
  readonly #store: Store;
  readonly #runs: Known[] = [];
  readonly #begun = new Map<string, number>();
  readonly #running: Begun[] = [];
  #made = 0;
  /** Nodes that start or are reloaded. */
  readonly #loading = new Map<At, Promise<void>>();
  #isDisturbed = false;
  readonly wrong: string[] = [];

  constructor(nodes: ServingNodes, store: Store) {
    this.#nodes = nodes;
    this.#store = store;
  }

  readonly take = (message: unknown): void => {
    const begun = message as Begun;
    const { name } = begun;
    const count = (this.#begun.get(name) ?? 0) + 1;
    this.#begun.set(name, count);
    if (count > 1) this.wrong.push(`${name} is begun ${count} times`);
    this.#running.push(begun);
  };

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "start":
        return this.#start(step);
      case "end":
        this.#nth(this.#running, step.index, true)?.end();
        return;
      case "cancel":
        return this.#cancel(step);
      case "vote":
        return this.#vote(step);
      case "restart":
        this.#disturb();
        return this.#loads(step.at, this.#nodes.restart(step.at));
      case "fall-silent":
        if (!this.#nodes.at(step.at).isServing) return;
        this.#disturb();
        return this.#nodes.fallSilent(step.at);
      case "speak":
        return this.#nodes.speakAgain(step.at);
      case "reload":
        if (!this.#nodes.at(step.at).isServing) return;
        return this.#loads(step.at, this.#nodes.reload(step.at, step.name));
      case "wait":
        // Time that passed while a node loads files would be over its deadlines.
        if (this.#loading.size === 0) vi.advanceTimersByTime(step.ms);
        return;
      case "hear":
        if (this.#nodes.isSilent(step.at)) return;
        return this.#nodes.at(step.at).hear(undefined, step.isMuch);
    }
  }

  /** One that is killed meanwhile never ends, and starts anew. */
  async #loads(at: At, work: Promise<void>): Promise<void> {
    this.#loading.set(at, work);
    await work.finally(() => {
      if (this.#loading.get(at) === work) this.#loading.delete(at);
    });
  }

  /** Turns that are under way may be cut off. */
  #disturb(): void {
    this.#isDisturbed = true;
    for (const run of this.#runs) run.isDisturbed = true;
  }

  /** As one of the people, or as who begins the runs. */
  async #ask(at: At, request: TestRequest, kind: CommitFault, person?: number): Promise<TestReply> {
    this.#nodes.at(at).fault = kind;
    if (kind !== "none") this.#disturb();
    const agent = person === undefined ? ALICE : undefined;
    const certificate = PEOPLE[person ?? -1];
    const peer = certificate === undefined ? {} : { certificate };
    const reply = await askAs(this.#nodes.answering(at), agent, request, peer);
    if (reply.status === 500) this.wrong.push(`${request.method} was answered ${reply.text}`);
    return reply;
  }

  async #start({ at, flow, fault }: Extract<Step, { kind: "start" }>): Promise<void> {
    if (!this.#nodes.at(at).isServing) return;
    this.#made += 1;
    const name = `r${this.#made}`;
    const body = { workflowId: flow, inputs: { name } };
    const reply = await this.#ask(at, { method: "EXECUTE", path: "/runs", body }, fault);
    if (reply.status === 503) return;
    if (reply.status !== 202) this.wrong.push(`${name} was answered ${reply.text}`);
    this.#runs.push({
      ...{ runId: String(reply.body["runId"]), name, flow, isDisturbed: this.#isDisturbed },
      ...{ taken: new Map(), said: new Set(), told: undefined, isCancelled: false },
      isInDoubt: false,
    });
  }

  async #cancel(step: Extract<Step, { kind: "cancel" }>): Promise<void> {
    const run = this.#nth(this.#runs, step.index);
    if (run === undefined || !this.#nodes.at(step.at).isServing) return;
    run.isCancelled = true;
    const request = { method: "CANCEL", path: `/runs/${run.runId}`, body: {} };
    const { status, body, text } = await this.#ask(step.at, request, step.fault);
    if (status === 503) run.isInDoubt = true;
    if (status === 503) return;
    const told = String(body["status"]);
    if (status !== 200 || !ENDS.has(told)) this.wrong.push(`CANCEL ${run.name}: ${text}`);
    if (run.told !== undefined && run.told !== told) {
      this.wrong.push(`${run.name} was told ${run.told}, and ${told} later`);
    }
    run.told = told;
  }

  async #vote(step: Extract<Step, { kind: "vote" }>): Promise<void> {
    const { at, word, person } = step;
    const run = this.#nth(this.#runs, step.index);
    if (run === undefined || !this.#nodes.at(at).isServing) return;
    const id = step.isQueued ? this.#escalationOf(at, run) : undefined;
    if (step.isQueued && id === undefined) return;
    const voter = `operator:${PEOPLE[person]?.spkiFingerprint}`;
    run.said.add(`${voter} ${word}`);
    const path = `/runs/${run.runId}/interrupts/gate`;
    const request: TestRequest =
      id === undefined
        ? {
            ...{ method: "CONFIRM", path, body: { status: word } },
            headers: { "Agent-ID": OVERSEER },
          }
        : confirmation(id, word);
    const { status, body, text } = await this.#ask(at, request, step.fault, person);
    if (![200, 403, 409, 422, 503].includes(status)) this.wrong.push(`${run.name}: ${text}`);
    if (status === 503) run.isInDoubt = true;
    if (status !== 200) return;
    const result = id === undefined ? body : body["result"];
    const isVote = result?.["vote"] !== undefined || result?.["confirmed"] !== undefined;
    const isDecision = result?.["run"] !== undefined;
    if (!isVote && !isDecision) return;
    const before = run.taken.get(voter);
    if (before !== undefined && before !== word) {
      this.wrong.push(`${run.name} took ${before} and ${word} of ${voter}`);
    }
    run.taken.set(voter, word);
  }

  #escalationOf(at: At, { runId }: Known): string | undefined {
    const { escalations } = this.#nodes.at(at).registers.kept.state;
    return escalations.list().find(({ context }) => runOf(context) === runId)?.escalationId;
  }

  /** Everybody goes on, turns end, and who is asked says yes; then everything is over. */
  async end(scheduler: fc.Scheduler): Promise<void> {
    for (const at of [0, 1] as const) {
      this.#nodes.at(at).fault = "none";
      void this.#nodes.speakAgain(at);
    }
    await this.#rest(scheduler);
    await this.#check(scheduler, false);
    for (const person of [0, 1, 2]) {
      for (const [index] of this.#runs.entries()) {
        const at = ((index + person) % 2) as At;
        void this.#vote({
          ...{ kind: "vote", at, index, person, word: "accepted", isQueued: index % 2 === 0 },
          fault: "none",
        });
        await this.#rest(scheduler);
      }
    }
    await this.#check(scheduler, true);
  }

  async #rest(scheduler: fc.Scheduler): Promise<void> {
    const endTurns = (): void => {
      for (const one of this.#running.splice(0)) one.end();
    };
    const isInDoubt = this.#runs.some((run) => run.isInDoubt);
    let isHeard = false;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      for (const at of [0, 1] as const) void this.#nodes.at(at).hear();
      await this.#nodes.idle(scheduler, endTurns);
      if (isHeard && round >= LEAST_ROUNDS) return;
      // Both nodes hear of the last end.
      isHeard = !(await this.#isUnderWay());
      // Work that a store stopped by its failure is tried again after a while.
      if (round % 20 === 1) vi.advanceTimersByTime(isInDoubt ? LOOK_STEP_MS : 1_500);
    }
  }

  async #isUnderWay(): Promise<boolean> {
    const entries = await this.#store.list("openwop-run-entries");
    return entries.some(({ value }) =>
      ["pending", "running"].includes(String((value as { readonly status?: unknown }).status)),
    );
  }

  async #check(scheduler: fc.Scheduler, isLast: boolean): Promise<void> {
    for (const run of this.#runs) {
      const seen: (readonly Event[])[] = [];
      for (const at of [0, 1] as const) {
        const path = `/runs/${run.runId}/events`;
        const asked = this.#ask(at, { method: "QUERY", path }, "none");
        await this.#nodes.idle(scheduler);
        const { body } = await asked;
        seen.push((body["events"] ?? []) as unknown as readonly Event[]);
      }
      const [events = [], other] = seen;
      if (JSON.stringify(events) !== JSON.stringify(other)) this.#say(run, events, "differs");
      this.#checkRun(run, events, isLast);
    }
  }

  #checkRun(run: Known, events: readonly Event[], isLast: boolean): void {
    const say = (text: string): void => this.#say(run, events, text);
    const log = readLog(events);
    const { end, words, isAsked, isGranted, isRefused } = log;
    if (events.some(({ sequence }, at) => sequence !== at)) say("is numbered wrongly");
    if (log.ends > 1) say("has ended twice");
    if (run.told !== undefined && run.told !== end?.status) say(`was told of as ${run.told}`);
    if (end?.status === "cancelled" && !run.isCancelled) say("was cancelled by nobody");
    if (end === undefined && (isLast || !isAsked || isGranted || isRefused)) say("does not end");
    if (end?.status === "failed" && !isMeant(end.code, run, log)) say(`fails with ${end.code}`);
    if (new Set(words.map(({ by }) => by)).size < words.length) say("counts somebody twice");
    for (const { by, word } of words) {
      if (!run.said.has(`${by} ${word}`)) say("has a word of nobody");
    }
    for (const [voter, taken] of run.taken) {
      if (!words.some(({ by, word }) => by === voter && word === taken)) {
        say(`lacks ${taken} of ${voter}`);
      }
    }
    const isBegun = (agent: string): boolean => this.#begun.has(`${run.name} ${agent}`);
    if (isBegun(SECOND) && run.flow !== "turns" && !isGranted) say("goes on unasked");
    const turns = run.flow === "gated" ? [SECOND] : [FIRST, SECOND];
    if (end?.status === "completed" && !turns.every(isBegun)) say("has done nothing");
    // A word of which nobody heard is looked at again when somebody says one, or a node starts.
    if (!run.isInDoubt) this.#checkQueue(run, log);
  }

  /** The escalation says of the run what its log does. */
  #checkQueue({ name, runId }: Known, { end, words, isAsked, isGranted }: ReadLog): void {
    for (const at of [0, 1] as const) {
      const { escalations } = this.#nodes.at(at).registers.kept.state;
      const all = escalations.list().filter(({ context }) => runOf(context) === runId);
      const [one] = all;
      if (all.length > 1 || (one === undefined && isAsked && end === undefined)) {
        this.wrong.push(`${name} has ${all.length} questions`);
      }
      if (one === undefined || one.status === "expired") continue;
      const { status, votes = [] } = one;
      const isRight =
        end !== undefined || isGranted
          ? status === (isGranted ? "accepted" : "rejected")
          : status === "pending_review" && votes.length === words.length;
      if (!isRight) this.wrong.push(`the question of ${name} is ${status}, ${votes.length} votes`);
    }
  }

  #say({ name, flow }: Known, events: readonly Event[], text: string): void {
    this.wrong.push(`${name} (${flow}) ${text}: ${events.map(({ type }) => type).join(", ")}`);
  }

  #nth<Item>(items: Item[], index: number, isTaken = false): Item | undefined {
    const place = items.length - 1 - (index % Math.max(1, items.length));
    return isTaken ? items.splice(place, 1)[0] : items[place];
  }
}

/** The facts of a log. */
interface ReadLog {
  readonly ends: number;
  readonly end: { readonly status: string; readonly code: string } | undefined;
  readonly words: readonly { readonly by: string; readonly word: Word }[];
  readonly isAsked: boolean;
  readonly isGranted: boolean;
  readonly isRefused: boolean;
}

function readLog(events: readonly Event[]): ReadLog {
  const ends = events.filter(({ type }) => ENDS.has(type.replace("run.", "")));
  const [end] = ends;
  const { code } = (end?.payload["error"] ?? {}) as { readonly code?: string };
  // A gate that nobody answers in time says so in the same words.
  const words = events
    .filter(({ type, payload }) => type === "approval.received" && payload["action"] !== "timeout")
    .map(({ payload: { decidedBy, action } }) => {
      const word: Word = action === "accept" ? "accepted" : "rejected";
      return { by: String(decidedBy), word };
    });
  return {
    ...{ ends: ends.length, words },
    end: end && { status: end.type.replace("run.", ""), code: String(code) },
    isAsked: events.some(({ type }) => type === "interrupt.requested"),
    isGranted: words.filter(({ word }) => word === "accepted").length >= 2,
    isRefused: words.some(({ word }) => word === "rejected"),
  };
}

/** Tells whether a run may have come to this. */
function isMeant(code: string, { isDisturbed }: Known, { isRefused }: ReadLog): boolean {
  if (code === "approval_rejected") return isRefused;
  return code === "run_interrupted" ? isDisturbed : code === "interrupt_timeout";
}

function runOf(context: unknown): unknown {
  return (context as { readonly openwop_run?: { readonly runId: unknown } }).openwop_run?.runId;
}

describe("runs of two nodes", () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"],
    });
  });
  afterEach(() => void vi.useRealTimers());

  it("do once what they do, end once, and go on where enough people let them", async () => {
    const files = filesByName();
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 25), async (scheduler, steps) => {
        let pause: () => Promise<unknown> = () => Promise.resolve();
        const store = createMemoryStore();
        const nodes = new ServingNodes({
          ...{ store, files, modules: ["openwop", "tasks", "floor"] },
          ...{ pause: () => pause(), now: () => Date.now() },
        });
        await nodes.start();
        pause = () => scheduler.schedule(Promise.resolve());
        const world = new World(nodes, store);
        BEGUN.subscribe(world.take);
        try {
          const thrown = await play(scheduler, steps, (step) => world.run(step));
          expect(thrown).toEqual([]);
          await world.end(scheduler);
          expect(world.wrong).toEqual([]);
        } finally {
          BEGUN.unsubscribe(world.take);
          vi.clearAllTimers();
        }
      }),
      { numRuns: 25 },
    );
  });
});
