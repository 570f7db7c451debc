/**
 * Two nodes with what waits: their clocks differ, each hears late of what the other has done, in an order of
 * the feed's own, and any of them starts anew. What is decided is decided from how things stand and not from
 * what a node has heard, and once both have heard everything both say what the model says.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import {
  type EscalationRequest,
  VERDICTS,
  type Verdict,
} from "../../src/state/registers/escalation.ts";
import type { ServerState } from "../../src/state/state.ts";
import type { Store } from "../../src/state/store.ts";
import { AT, type At, HearingNode } from "../support/hearing-nodes.ts";
import { openRegisters, type TestClock, wish, word } from "../support/tasks.ts";

const AGENT = "a".repeat(64);
const LIFETIME = 100;
/** How far the clock of the second node is off. */
const SKEW = fc.constantFrom(0, -30, 30);

/** A node with a clock of its own. */
class Node extends HearingNode<Pick<ServerState, "escalations" | "suspensions">> {
  readonly #clock: TestClock;

  constructor(shared: Store, clock: TestClock) {
    super(shared, { open: (store) => openRegisters(store, clock) });
    this.#clock = clock;
  }

  get now(): number {
    return this.#clock.at;
  }
}

interface ModelEscalation {
  readonly request: EscalationRequest;
  status: string;
  isUsed: boolean;
}

interface ModelSession {
  readonly nonce: string;
  readonly resumeBy: number;
  state: string;
}

interface Model {
  readonly escalations: Map<string, ModelEscalation>;
  readonly sessions: ModelSession[];
  /** By node: whether it has heard of everything that the other has done. */
  readonly isCurrent: [boolean, boolean];
}

interface Real {
  readonly clocks: readonly [TestClock, TestClock];
  readonly nodes: readonly [Node, Node];
}

type Command = fc.AsyncCommand<Model, Real>;

function isPending({ status, request }: ModelEscalation, now: number): boolean {
  return (status === "pending_review" || status === "deferred") && request.deadlineAt > now;
}

function isUsable({ status, request, isUsed }: ModelEscalation, now: number): boolean {
  const isGiven = request.approval !== undefined && status === "accepted";
  return isGiven && !isUsed && request.deadlineAt > now;
}

function isAwaited(one: ModelEscalation, now: number): boolean {
  return isPending(one, now) || isUsable(one, now);
}

function statusAt(one: ModelEscalation, now: number): string {
  const isOpen = one.status === "pending_review" || one.status === "deferred";
  return isOpen && !isPending(one, now) ? "expired" : one.status;
}

function stateAt({ state, resumeBy }: ModelSession, now: number): string {
  return state === "suspended" && resumeBy <= now ? "expired" : state;
}

/** The last that was opened for the task, or about the call. */
function lastLike(model: Model, request: EscalationRequest): [string, ModelEscalation] | undefined {
  const isCall = request.approval !== undefined;
  return [...model.escalations].findLast(([, one]) => {
    return isCall === (one.request.approval !== undefined);
  });
}

/** One of each: that they stay apart is no matter of nodes. */
const TASK = wish(AGENT, "t-1");
const CALL: EscalationRequest = {
  ...{ agentId: AGENT, reason: "scope_limit", context: {}, priority: "normal", deadlineAt: 0 },
  ...{ fingerprint: "call", approval: { digest: "sha256:0", nonce: "n", payer: AGENT } },
};
const SESSION = "s-1";
const CHECKPOINT = { step: 3 };

function compare(model: Model, node: Node): void {
  const { escalations, suspensions } = node.registers;
  const [id, last] = lastLike(model, TASK) ?? [];
  const isWaiting = last !== undefined && last.status !== "accepted";
  const pause = escalations.pauseOf(AGENT, "t-1");
  const found = pause && { id: pause.escalationId, status: pause.status };
  expect(found).toEqual(isWaiting ? { id, status: statusAt(last, node.now) } : undefined);
  const halted = model.sessions.at(-1);
  const state = halted && stateAt(halted, node.now);
  expect(suspensions.holdOf(SESSION)?.state).toBe(state === "resumed" ? undefined : state);
  const shown = new Map(escalations.list().map((one) => [one.escalationId, one.status]));
  for (const [id, one] of model.escalations) expect(shown.get(id)).toBe(statusAt(one, node.now));
  expect(shown.size).toBe(model.escalations.size);
}

/** A step of one node; the other has not heard of it. */
function step(name: string, at: At, run: (model: Model, node: Node) => Promise<boolean>): Command {
  return {
    check: () => true,
    run: async (model, { nodes }) => {
      if (await run(model, nodes[at])) model.isCurrent[at === 0 ? 1 : 0] = false;
      for (const other of [0, 1] as const) {
        if (model.isCurrent[other]) compare(model, nodes[other]);
      }
    },
    toString: () => `${at}: ${name}`,
  };
}

function open(at: At, wanted: EscalationRequest): Command {
  return step(`open ${wanted.fingerprint}`, at, async (model, node) => {
    const request = { ...wanted, deadlineAt: node.now + LIFETIME };
    const [id, last] = lastLike(model, request) ?? [];
    const isKeptOut =
      last !== undefined &&
      (request.approval === undefined ? isPending(last, node.now) : isAwaited(last, node.now));
    const isCurrent = model.isCurrent[at];
    const opening = await node.registers.escalations.open(request);
    if (opening.kind === "opened") {
      expect(isKeptOut).toBe(false);
      const { escalationId } = opening.escalation;
      model.escalations.set(escalationId, { request, status: "pending_review", isUsed: false });
      return true;
    }
    // A node that has not heard of its end answers with what was there.
    if (isCurrent) {
      const isSame = last?.request.fingerprint === request.fingerprint;
      expect(opening).toMatchObject({ escalation: { escalationId: id } });
      expect([isKeptOut, opening.kind]).toEqual([true, isSame ? "repeated" : "waiting"]);
    }
    return false;
  });
}

/** One that was opened; those that a node has not heard of are unknown to it. */
function ofModel(model: Model, node: Node, index: number): [string, ModelEscalation] | undefined {
  const known = [...model.escalations].filter(
    ([id]) => node.registers.escalations.find(id) !== undefined,
  );
  return known.at(-1 - (index % Math.max(1, known.length)));
}

function confirm(at: At, index: number, verdict: Verdict): Command {
  return step(`confirm ${index} ${verdict}`, at, async (model, node) => {
    const [id, one] = ofModel(model, node, index) ?? ["esc-none", undefined];
    const isCurrent = model.isCurrent[at];
    const outcome = await node.registers.escalations.decide(id, word(verdict, { at: node.now }));
    if (one === undefined) {
      expect(outcome.kind).toBe("unknown");
      return false;
    }
    const isTakenBack = verdict === "rejected" && isUsable(one, node.now);
    const isDecidable = isPending(one, node.now) && one.status !== verdict;
    if (outcome.kind === "decided") {
      expect(isDecidable || isTakenBack).toBe(true);
      one.status = verdict;
      return true;
    }
    const kind = statusAt(one, node.now) === verdict ? "repeated" : "conflict";
    if (isCurrent) expect([isDecidable || isTakenBack, outcome.kind]).toEqual([false, kind]);
    return false;
  });
}

/** A call uses an approval up, and ends. */
function use(at: At, index: number): Command {
  return step(`use ${index}`, at, async (model, node) => {
    const { escalations } = node.registers;
    const [id, one] = ofModel(model, node, index) ?? ["esc-none", undefined];
    const isCurrent = model.isCurrent[at];
    const isDone = await escalations.use(id, { at: node.now, responseId: "res-1" });
    const couldBe = one !== undefined && isUsable(one, node.now);
    if (isDone || isCurrent) expect(isDone).toBe(couldBe);
    if (isDone && one !== undefined) one.isUsed = true;
    return isDone;
  });
}

function settle(at: At, index: number): Command {
  return step(`settle ${index}`, at, async (model, node) => {
    const [id] = ofModel(model, node, index) ?? ["esc-none"];
    await node.registers.escalations.settleUse(id, { status: 200 });
    return true;
  });
}

function halt(at: At, isEnd: boolean): Command {
  return step(isEnd ? "end" : "suspend", at, async (model, node) => {
    const { suspensions } = node.registers;
    const resumeBy = node.now + LIFETIME;
    const last = model.sessions.at(-1);
    const state = last === undefined ? "resumed" : stateAt(last, node.now);
    const isCurrent = model.isCurrent[at];
    const asked = { sessionId: SESSION, agentId: AGENT };
    const halting = isEnd
      ? { nonce: "", ...(await suspensions.end(asked)) }
      : await suspensions.suspend({ ...asked, resumeBy }, CHECKPOINT);
    const canBe = state === "resumed" || (isEnd && state === "suspended");
    if (halting.kind === "halted" || isCurrent) expect(halting.kind === "halted").toBe(canBe);
    if (halting.kind !== "halted") return false;
    if (last !== undefined && isEnd && state === "suspended") last.state = "ended";
    else {
      const { nonce } = halting;
      model.sessions.push({ nonce, resumeBy, state: isEnd ? "ended" : "suspended" });
    }
    return true;
  });
}

function resume(at: At, index: number): Command {
  return step(`resume ${index}`, at, async (model, node) => {
    const resumable = model.sessions.filter(({ nonce }) => nonce !== "");
    const one = resumable.at(-1 - (index % Math.max(1, resumable.length)));
    const nonce = one?.nonce ?? "none";
    const isCurrent = model.isCurrent[at];
    const asked = { agentId: AGENT, nonce, isAdmitted: () => true };
    const resuming = await node.registers.suspensions.resume(asked);
    const state = one && stateAt(one, node.now);
    if (resuming.kind === "resumed") {
      expect(state).toBe("suspended");
      expect(resuming.checkpoint).toEqual(CHECKPOINT);
      if (one !== undefined) one.state = "resumed";
      return true;
    }
    const expected = one === undefined ? "unknown" : state === "resumed" ? "reused" : state;
    if (isCurrent) expect(resuming.kind).toBe(expected);
    return false;
  });
}

const sweep = (at: At): Command =>
  step("sweep", at, async (model, node) => {
    await node.hear();
    await node.registers.escalations.sweep();
    await node.registers.suspensions.sweep(() => Promise.resolve());
    for (const one of model.escalations.values()) one.status = statusAt(one, node.now);
    for (const one of model.sessions) one.state = stateAt(one, node.now);
    model.isCurrent[at] = true;
    return true;
  });

const hear = (at: At, isMuch: boolean): Command =>
  step(isMuch ? "hear that there is much" : "hear", at, async (model, node) => {
    await node.hear(() => Promise.resolve(), isMuch);
    model.isCurrent[at] = true;
    return false;
  });

/** A node hears an answer that was asked for before its own step. */
const hearBefore = (at: At, done: Command): Command => ({
  check: () => true,
  run: async (model, real) => {
    const { nodes } = real;
    const other = at === 0 ? 1 : 0;
    await nodes[at].hear(() => done.run(model, real), false);
    model.isCurrent[at] = true;
    if (model.isCurrent[other]) compare(model, nodes[other]);
    compare(model, nodes[at]);
  },
  toString: () => `${at}: hear before (${done.toString()})`,
});

const restart = (at: At): Command =>
  step("restart", at, async (model, node) => {
    await node.start();
    model.isCurrent[at] = true;
    return false;
  });

const wait = (milliseconds: number): Command => ({
  check: () => true,
  run: async (_, { clocks }) => {
    for (const clock of clocks) clock.at += milliseconds;
  },
  toString: () => `wait ${milliseconds}`,
});

/** From the last one back. */
const INDEX = fc.constantFrom(0, 0, 0, 1, 2);

type Deeds = (at: At) => readonly fc.Arbitrary<Command>[];

const QUESTIONS: Deeds = (at) => [
  fc.constantFrom(TASK, { ...TASK, fingerprint: "g" }, CALL, CALL).map((one) => open(at, one)),
  fc.tuple(INDEX, fc.constantFrom(...VERDICTS)).map((all) => confirm(at, ...all)),
  INDEX.map((index) => use(at, index)),
  INDEX.map((index) => settle(at, index)),
];

const SUSPENSIONS: Deeds = (at) => [
  fc.boolean().map((isEnd) => halt(at, isEnd)),
  INDEX.map((index) => resume(at, index)),
];

function commandsOf(deeds: Deeds): fc.Arbitrary<Iterable<Command>> {
  return fc.commands(
    [
      ...deeds(0),
      ...deeds(1),
      AT.map(sweep),
      fc.tuple(AT, fc.boolean()).map((all) => hear(...all)),
      AT.chain((at) => fc.oneof(...deeds(at)).map((done) => hearBefore(at, done))),
      AT.map(restart),
      fc.constantFrom(1, LIFETIME / 2, LIFETIME).map(wait),
    ],
    { maxCommands: 40, size: "max" },
  );
}

/** Both nodes know everything, are started anew, and are asked for the same once more. */
const ENDING = [
  hear(0, false),
  hear(1, false),
  restart(0),
  restart(1),
  open(0, CALL),
  open(1, CALL),
];

// AGTP "ESCALATE", "CONFIRM", "SUSPEND", "RESUME"
describe.each([
  ["a question", QUESTIONS],
  ["a session", SUSPENSIONS],
])("%s that waits on two nodes", (_, deeds) => {
  it("waits as the model says, however late they hear of it and whatever their clocks say", async () => {
    await fc.assert(
      fc.asyncProperty(SKEW, commandsOf(deeds), async (skew, steps) => {
        const store = createMemoryStore();
        const clocks = [{ at: 1_000 }, { at: 1_000 + skew }] as const;
        const nodes = [new Node(store, clocks[0]), new Node(store, clocks[1])] as const;
        for (const node of nodes) await node.start();
        const model: Model = { escalations: new Map(), sessions: [], isCurrent: [true, true] };
        const setup = (): { model: Model; real: Real } => ({ model, real: { clocks, nodes } });
        await fc.asyncModelRun(setup, steps);
        await fc.asyncModelRun(setup, ENDING);
      }),
      { numRuns: 150 },
    );
  });
});
