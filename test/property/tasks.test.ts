/**
 * Whatever is escalated, decided, suspended and resumed in whatever order, through restarts and with
 * the time going by: a task waits exactly as long as the model says, and a session too.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VERDICTS, type Verdict } from "../../src/state/registers/escalation.ts";
import type { ServerState } from "../../src/state/state.ts";
import { makeLastingStore } from "../support/state.ts";
import { openRegisters, type TestClock, wish, word } from "../support/tasks.ts";

const AGENTS = ["a".repeat(64), "b".repeat(64)];
const TASKS = ["t-1", "t-2"];
const SESSIONS = ["s-1", "s-2"];
const LIFETIME = 100;

/** What the model remembers of an escalation. */
interface ModelEscalation {
  readonly agent: string;
  readonly task: string;
  readonly fingerprint: string;
  readonly deadlineAt: number;
  status: string;
}

interface ModelSession {
  readonly nonce: string;
  readonly agent: string;
  readonly session: string;
  readonly resumeBy: number;
  state: string;
}

interface Model {
  now: number;
  readonly escalations: Map<string, ModelEscalation>;
  readonly sessions: ModelSession[];
}

interface Real {
  readonly clock: TestClock;
  readonly store: ReturnType<typeof makeLastingStore>;
  registers: Pick<ServerState, "escalations" | "suspensions">;
}

type Command = fc.AsyncCommand<Model, Real>;

function isOpen({ status }: ModelEscalation): boolean {
  return status === "pending_review" || status === "deferred";
}

/** The last escalation of a task, which is what it waits for unless it was accepted. */
function lastOf(model: Model, agent: string, task: string): [string, ModelEscalation] | undefined {
  return [...model.escalations].findLast(([, one]) => one.agent === agent && one.task === task);
}

function elapse(model: Model): void {
  for (const one of model.escalations.values()) {
    if (isOpen(one) && one.deadlineAt <= model.now) one.status = "expired";
  }
  for (const one of model.sessions) {
    if (one.state === "suspended" && one.resumeBy <= model.now) one.state = "expired";
  }
}

function compare(model: Model, { registers }: Real): void {
  for (const agent of AGENTS) {
    for (const task of TASKS) {
      const [id, last] = lastOf(model, agent, task) ?? [];
      const isWaiting = last !== undefined && last.status !== "accepted";
      const pause = registers.escalations.pauseOf(agent, task);
      const found = pause && { id: pause.escalationId, status: pause.status };
      expect(found).toEqual(isWaiting ? { id, status: last.status } : undefined);
    }
  }
  for (const session of SESSIONS) {
    const last = model.sessions.findLast((one) => one.session === session);
    const held = last?.state === "resumed" ? undefined : last?.state;
    expect(registers.suspensions.holdOf(session)?.state).toBe(held);
  }
}

/** One step; the model is compared with the registers after each. */
function step(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
    run: async (model, real) => {
      await run(model, real);
      compare(model, real);
    },
    toString: () => name,
  };
}

function escalate(agent: string, task: string, fingerprint: string): Command {
  return step(`escalate ${agent[0]} ${task} ${fingerprint}`, async (model, real) => {
    const deadlineAt = model.now + LIFETIME;
    const asked = wish(agent, task, { fingerprint, deadlineAt });
    const opening = await real.registers.escalations.open(asked);
    const [id, last] = lastOf(model, agent, task) ?? [];
    if (last !== undefined && isOpen(last)) {
      expect(opening.kind).toBe(last.fingerprint === fingerprint ? "repeated" : "waiting");
      expect(opening).toMatchObject({ escalation: { escalationId: id } });
      return;
    }
    if (opening.kind !== "opened") throw new Error(`it was ${opening.kind}`);
    const { escalationId } = opening.escalation;
    const opened = { agent, task, fingerprint, deadlineAt, status: "pending_review" };
    model.escalations.set(escalationId, opened);
  });
}

function confirm(index: number, verdict: Verdict): Command {
  return step(`confirm ${index} ${verdict}`, async (model, real) => {
    const all = [...model.escalations];
    const [id, one] = all[index % Math.max(1, all.length)] ?? ["esc-none", undefined];
    const outcome = await real.registers.escalations.decide(id, word(verdict));
    const expected =
      one === undefined
        ? "unknown"
        : one.status === verdict
          ? "repeated"
          : isOpen(one)
            ? "decided"
            : "conflict";
    expect(outcome.kind).toBe(expected);
    if (one !== undefined && expected === "decided") one.status = verdict;
  });
}

function suspend(agent: string, session: string): Command {
  return step(`suspend ${agent[0]} ${session}`, async (model, real) => {
    const resumeBy = model.now + LIFETIME;
    const asked = { sessionId: session, agentId: agent, resumeBy };
    const { kind, nonce } = await real.registers.suspensions.suspend(asked, undefined);
    const last = model.sessions.findLast((one) => one.session === session);
    const isFree = last === undefined || last.state === "resumed";
    expect(kind).toBe(isFree ? "halted" : "held");
    if (isFree) model.sessions.push({ nonce, agent, session, resumeBy, state: "suspended" });
  });
}

function resume(index: number, agent: string, times: number): Command {
  return step(`resume ${index} ${agent[0]} ${times} times`, async (model, real) => {
    const one = model.sessions[index % Math.max(1, model.sessions.length)];
    const asked = { agentId: agent, nonce: one?.nonce ?? "none", isAdmitted: () => true };
    const outcomes = await Promise.all(
      Array.from({ length: times }, () => real.registers.suspensions.resume(asked)),
    );
    const kinds = outcomes.map(({ kind }) => kind);
    const isOwn = one !== undefined && one.agent === agent;
    const first = !isOwn ? "unknown" : one.state === "suspended" ? "resumed" : one.state;
    const after = first === "resumed" ? "reused" : first;
    const spent = isOwn && one.state === "resumed" ? "reused" : undefined;
    expect(kinds).toEqual(kinds.map((_, at) => spent ?? (at === 0 ? first : after)));
    if (isOwn && one.state === "suspended") one.state = "resumed";
  });
}

const wait = (milliseconds: number): Command =>
  step(`wait ${milliseconds}`, async (model, real) => {
    model.now += milliseconds;
    real.clock.at = model.now;
    elapse(model);
  });

const sweep = (): Command =>
  step("sweep", async (_, real) => {
    await real.registers.escalations.sweep();
    await real.registers.suspensions.sweep(() => Promise.resolve());
  });

const restart = (): Command =>
  step("restart", async (_, real) => {
    real.registers = await openRegisters(real.store, real.clock);
  });

const agent = fc.constantFrom(...AGENTS);
const index = fc.nat(20);
const commands = fc.commands(
  [
    fc
      .tuple(agent, fc.constantFrom(...TASKS), fc.constantFrom("f", "g"))
      .map((all) => escalate(...all)),
    fc.tuple(index, fc.constantFrom(...VERDICTS)).map((all) => confirm(...all)),
    fc.tuple(agent, fc.constantFrom(...SESSIONS)).map((all) => suspend(...all)),
    fc.tuple(index, agent, fc.integer({ min: 1, max: 3 })).map((all) => resume(...all)),
    fc.constantFrom(1, LIFETIME / 2, LIFETIME).map(wait),
    fc.constant(null).map(sweep),
    fc.constant(null).map(restart),
  ],
  { maxCommands: 40, size: "max" },
);

// AGTP "ESCALATE", "CONFIRM", "SUSPEND"
describe("what waits", () => {
  it("waits as long as the model says, whatever is done in whatever order", async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (steps) => {
        const store = makeLastingStore();
        const clock = { at: 0 };
        const registers = await openRegisters(store, clock);
        const setup = (): { model: Model; real: Real } => ({
          model: { now: 0, escalations: new Map(), sessions: [] },
          real: { clock, store, registers },
        });
        await fc.asyncModelRun(setup, steps);
      }),
      { numRuns: 150 },
    );
  });
});
