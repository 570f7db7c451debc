/**
 * Calls that wait for an operator, at two nodes whose commits come late, fail before or after they are made, that are
 * reloaded with other rules or another endpoint, and killed between any two steps. An approval lets one call begin: of
 * the agent, input and versions that it was given for, in its time, once it was given and unless it was taken back.
 * A call that brings a good one begins, and afterwards whoever brings it again learns what became of that call.
 */
import { channel } from "node:diagnostics_channel";
import fc from "fast-check";
import { describe, it } from "vitest";
import { uuidv7 } from "../../src/identity/uuid.ts";
import { ALMA, approvingFiles, BORIS, decide, OPERATOR } from "../support/approving.ts";
import type { TestReply, TestRequest } from "../support/dispatch.ts";
import {
  AT,
  type At,
  type CommitFault,
  FAULT,
  HEAR,
  type HearStep,
} from "../support/hearing-nodes.ts";
import { liveThrough } from "../support/lived-worlds.ts";
import type { FilesByName, ServingNodes } from "../support/serving-nodes.ts";
import { askAs } from "../support/waiting.ts";

const HOUR_MS = 3_600_000;
const AGENTS = [ALMA, BORIS] as const;
const GUESTS = ["Ada", "Bob"] as const;
const SERVED = ["plain", "other rules", "another endpoint"] as const;

/** A handler that has begun, and ends when it is told to. */
interface Begun {
  /** The Request-ID of its call. */
  readonly call: string;
  end(): void;
}

const BEGUN = channel("test:approved-call");
const HANDLER = `
import { channel } from "node:diagnostics_channel";
const begun = channel("${String(BEGUN.name)}");
export const book = ({ requestId }) =>
  new Promise((resolve) => begun.publish({ call: requestId, end: () => resolve({ body: {} }) }));
`;

async function filesByName(): Promise<FilesByName> {
  const plain = await approvingFiles();
  const book = plain["endpoints/book.toml"] ?? "";
  const files = {
    ...Object.fromEntries(Object.entries(plain).filter(([name]) => !name.startsWith("endpoints/"))),
    "handlers.mjs": HANDLER,
    "endpoints/book.toml": book,
  };
  const rules = [{ impact: "irreversible", approval: "operator", ttl_seconds: 1_800 }];
  const other = await approvingFiles(rules);
  return {
    plain: files,
    "other rules": { ...files, "agtp-server.toml": other["agtp-server.toml"] ?? "" },
    "another endpoint": {
      ...files,
      "endpoints/book.toml": book.replace("An endpoint of a test.", "Another one."),
    },
  };
}

interface CallStep {
  readonly at: At;
  /** Otherwise as the question is about. */
  readonly isOther: boolean;
  readonly isExecuted: boolean;
  readonly key: string | undefined;
  readonly fault: CommitFault;
}

type Step =
  | ({ readonly kind: "ask"; readonly agent: string; readonly guest: string } & CallStep)
  /** From the last question back. */
  | ({ readonly kind: "bring"; readonly index: number } & CallStep)
  | {
      readonly kind: "confirm";
      readonly at: At;
      readonly index: number;
      readonly verdict: "accepted" | "rejected" | "deferred";
      readonly fault: CommitFault;
    }
  | { readonly kind: "end"; readonly index: number; readonly fault: CommitFault }
  | HearStep
  | { readonly kind: "restart"; readonly at: At }
  | { readonly kind: "reload"; readonly at: At; readonly name: string }
  | {
      readonly kind: "halt";
      readonly at: At;
      readonly agent: string;
      readonly method: "DEACTIVATE" | "REINSTATE";
    }
  | { readonly kind: "wait"; readonly ms: number };

const index = fc.constantFrom(0, 0, 0, 1, 2);
const agent = fc.constantFrom(...AGENTS, ALMA);
const CALL = {
  at: AT,
  isOther: fc.constantFrom(false, false, false, false, true),
  isExecuted: fc.constantFrom(false, false, true),
  key: fc.constantFrom(undefined, undefined, "k", "l"),
  fault: FAULT,
};
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ kind: fc.constant("ask" as const), agent, guest: fc.constantFrom(...GUESTS, "Ada") },
      ...CALL,
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("bring" as const), index, ...CALL }) },
  {
    weight: 5,
    arbitrary: fc.record({
      ...{ kind: fc.constant("confirm" as const), at: AT, index, fault: FAULT },
      verdict: fc.constantFrom("accepted" as const, "accepted", "accepted", "rejected", "deferred"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("end" as const), index, fault: FAULT }),
  },
  { weight: 2, arbitrary: HEAR },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), at: AT }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant("reload" as const), at: AT },
      name: fc.constantFrom(...SERVED),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant("halt" as const), at: AT, agent },
      method: fc.constantFrom("DEACTIVATE" as const, "REINSTATE"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1, HOUR_MS / 2, HOUR_MS),
    }),
  },
);

/** Answers of calls that have begun, or of which nobody can tell. */
const MAY_HAVE_BEGUN: ReadonlySet<number> = new Set([200, 503]);

/** A question that was asked, about a call. */
interface Question {
  readonly id: string;
  readonly agent: string;
  readonly guest: string;
  /** The files of the node that asked it. */
  readonly served: string;
  readonly deadlineAt: number;
  isAccepted: boolean;
  /** Somebody may have accepted it. */
  mayBeAccepted: boolean;
  isRejected: boolean;
  mayBeRejected: boolean;
  /** Calls that have brought it, and may use it or have done so. */
  readonly users: Set<Call>;
  begun: Call | undefined;
}

/** A call that was made. */
interface Call {
  readonly id: string;
  readonly at: At;
  readonly agent: string;
  readonly guest: string;
  readonly served: string;
  readonly question: Question | undefined;
  readonly sentAt: number;
  /** Nothing but what it brings can keep it from beginning. */
  isGood: boolean;
  readonly wasHalted: boolean;
  isAnswered: boolean;
}

/** How an agent stands; one that is neither may be either. */
interface Standing {
  isActive: boolean;
  isHalted: boolean;
}

class World {
  readonly #nodes: ServingNodes;
  readonly #clock: { at: number };
  readonly #run: string;
  readonly #questions: Question[] = [];
  readonly #calls = new Map<string, Call>();
  readonly #running: Begun[] = [];
  readonly #standings = new Map<string, Standing>(
    AGENTS.map((one) => [one, { isActive: true, isHalted: false }]),
  );
  /** Agents of which nobody knows whether they are halted. */
  readonly #unsure = new Set<string>();
  readonly wrong: string[] = [];

  constructor(nodes: ServingNodes, clock: { at: number }, run: number) {
    this.#nodes = nodes;
    this.#clock = clock;
    this.#run = `run${run}`;
  }

  /** An agent of the next run may be halted all at once. */
  get isUnsure(): boolean {
    return this.#unsure.size > 0;
  }

  readonly take = (message: unknown): void => {
    const begun = message as Begun;
    const call = this.#calls.get(begun.call);
    if (call === undefined) {
      begun.end();
      return;
    }
    this.#running.push(begun);
    const { question, agent, guest, served } = call;
    if (question === undefined) {
      this.wrong.push(`${call.id} began without a word`);
      return;
    }
    const said = `${call.id} began by ${question.id}, which`;
    if (question.begun !== undefined) this.wrong.push(`${said} ${question.begun.id} has used`);
    if (question.agent !== agent || question.guest !== guest || question.served !== served) {
      this.wrong.push(`${said} is for another call`);
    }
    if (question.deadlineAt <= call.sentAt) this.wrong.push(`${said} was over`);
    if (!question.mayBeAccepted) this.wrong.push(`${said} nobody gave`);
    if (question.isRejected) this.wrong.push(`${said} was taken back`);
    if (call.wasHalted && this.#standings.get(agent)?.isHalted === true) {
      this.wrong.push(`${call.id} began, whose agent is halted`);
    }
    question.begun = call;
  };

  /** One question is asked, and its approval given. */
  async begin(scheduler: fc.Scheduler): Promise<void> {
    const common = { at: 0, fault: "none" } as const;
    const call = { ...common, isOther: false, isExecuted: false, key: undefined };
    const steps: readonly Step[] = [
      { kind: "ask", agent: ALMA, guest: "Ada", ...call },
      { kind: "confirm", index: 0, verdict: "accepted", ...common },
    ];
    for (const step of steps) {
      void this.run(step);
      await this.#nodes.idle(scheduler);
    }
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "wait":
        this.#clock.at += step.ms;
        return;
      case "end": {
        const one = this.#nth(this.#running, step.index);
        if (one === undefined) return;
        this.#running.splice(this.#running.indexOf(one), 1);
        const call = this.#calls.get(one.call);
        if (call !== undefined) this.#disturb(call.at, step.fault);
        return one.end();
      }
      case "hear":
        return this.#nodes.at(step.at).hear(undefined, step.isMuch);
      case "restart":
        for (const call of this.#calls.values()) if (call.at === step.at) call.isGood = false;
        return this.#nodes.restart(step.at);
      case "reload":
        if (!this.#nodes.at(step.at).isServing) return;
        return this.#nodes.reload(step.at, step.name);
      case "halt":
        return this.#halt(step);
      case "confirm":
        return this.#confirm(step);
      case "ask":
        return this.#ask(step);
      case "bring":
        return this.#bring(step);
    }
  }

  /** A store that fails excuses whoever is served meanwhile. */
  #disturb(at: At, fault: CommitFault): void {
    this.#nodes.at(at).fault = fault;
    if (fault === "none") return;
    for (const call of this.#calls.values()) {
      if (call.at === at && !call.isAnswered) call.isGood = false;
    }
  }

  async #halt({ at, agent, method }: Extract<Step, { kind: "halt" }>): Promise<void> {
    const node = this.#nodes.at(at);
    if (!node.isServing) return;
    for (const call of this.#calls.values()) if (call.agent === agent) call.isGood = false;
    const standing: Standing = { isActive: false, isHalted: false };
    this.#standings.set(agent, standing);
    const request = { method, body: { agent_id: agent } };
    // Until it is answered it may hold at any time, whatever is said of the agent meanwhile.
    if (method === "DEACTIVATE") this.#unsure.add(agent);
    const { status } = await askAs(this.#nodes.answering(at), undefined, request, OPERATOR);
    if (status === 200 && method === "DEACTIVATE") this.#unsure.delete(agent);
    if (this.#standings.get(agent) !== standing || status !== 200) return;
    if (method === "DEACTIVATE") standing.isHalted = true;
    else standing.isActive = true;
  }

  async #confirm(step: Extract<Step, { kind: "confirm" }>): Promise<void> {
    const { at, verdict } = step;
    const question = this.#nth(this.#questions, step.index);
    const node = this.#nodes.at(at);
    if (question === undefined || !node.isServing) return;
    this.#disturb(at, step.fault);
    if (verdict === "accepted") question.mayBeAccepted = true;
    if (verdict === "rejected") question.mayBeRejected = true;
    for (const call of this.#calls.values()) {
      if (verdict === "rejected" && call.question === question) call.isGood = false;
    }
    const { status, text } = await decide(this.#nodes.answering(at), question.id, verdict);
    if (![200, 409, 503].includes(status)) this.wrong.push(`CONFIRM was answered ${text}`);
    if (status !== 200) return;
    if (verdict === "accepted") question.isAccepted = true;
    if (verdict !== "rejected") return;
    question.isRejected = true;
    if (question.begun !== undefined)
      this.wrong.push(`${question.id} was taken back after its use`);
  }

  async #ask(step: Extract<Step, { kind: "ask" }>): Promise<void> {
    const node = this.#nodes.at(step.at);
    if (!node.isServing) return;
    const { name } = node.registers;
    const { agent, guest } = step;
    const open = this.#questions.findLast(
      (one) => one.agent === agent && one.guest === guest && one.served === name,
    );
    const isOpen = open !== undefined && !open.mayBeRejected && open.users.size === 0;
    this.#disturb(step.at, step.fault);
    const reply = await this.#send(step, { agent, guest, question: undefined });
    const id = String(reply.body["escalation_id"]);
    if (reply.status !== 262 || this.#questions.some((one) => one.id === id)) return;
    const isStillOpen = isOpen && !open.mayBeRejected && open.users.size === 0;
    if (isStillOpen && open.deadlineAt > this.#clock.at) {
      this.wrong.push(`${id} asks what ${open.id} asks`);
    }
    this.#questions.push({
      ...{ id, agent, guest, served: name },
      deadlineAt: Date.parse(String(reply.body["expires_at"])),
      ...{ isAccepted: false, mayBeAccepted: false, isRejected: false, mayBeRejected: false },
      ...{ users: new Set(), begun: undefined },
    });
  }

  async #bring(step: Extract<Step, { kind: "bring" }>): Promise<void> {
    const question = this.#nth(this.#questions, step.index);
    const node = this.#nodes.at(step.at);
    if (question === undefined || !node.isServing) return;
    const { isOther } = step;
    const [agent, guest] = [question.agent, isOther ? "Eve" : question.guest];
    this.#disturb(step.at, step.fault);
    await this.#send(step, { agent, guest, question });
  }

  async #send(
    step: CallStep,
    { agent, guest, question }: Pick<Call, "agent" | "guest" | "question">,
  ): Promise<TestReply> {
    const { at, key, isExecuted } = step;
    const { name } = this.#nodes.at(at).registers;
    const standing = this.#standings.get(agent);
    const call: Call = {
      ...{ id: uuidv7(), at, agent, guest, question },
      ...{ served: name, sentAt: this.#clock.at, isAnswered: false },
      isGood:
        question !== undefined &&
        question.guest === guest &&
        question.served === name &&
        question.isAccepted &&
        !question.mayBeRejected &&
        question.users.size === 0 &&
        question.deadlineAt > this.#clock.at &&
        standing?.isActive === true &&
        !this.#unsure.has(agent) &&
        key === undefined &&
        this.#nodes.at(at).fault === "none",
      wasHalted: standing?.isHalted === true,
    };
    this.#calls.set(call.id, call);
    // Of several that bring it at once any may be the first.
    for (const other of question?.users ?? []) if (!other.isAnswered) other.isGood = false;
    question?.users.add(call);
    const reply = await askAs(
      this.#nodes.answering(at),
      agent,
      this.#requestOf(call, { isExecuted, key }),
    );
    call.isAnswered = true;
    const { status, text } = reply;
    if (question?.begun !== call && !MAY_HAVE_BEGUN.has(status)) question?.users.delete(call);
    const isInTime = question !== undefined && question.deadlineAt > this.#clock.at;
    if (call.isGood && isInTime && status !== 200) {
      this.wrong.push(`${call.id} brought ${question.id}, and was answered ${text}`);
    }
    if (status === 500) this.wrong.push(`${call.id} was answered ${text}`);
    return reply;
  }

  #requestOf(
    { id, guest, question }: Call,
    { isExecuted, key }: Pick<CallStep, "isExecuted" | "key">,
  ): TestRequest {
    const headers = {
      "Request-ID": id,
      ...(key === undefined ? {} : { "Idempotency-Key": `${this.#run}-${key}` }),
      ...(question === undefined ? {} : { "Escalation-ID": question.id }),
    };
    const [path, body] = [`/rooms/${this.#run}`, { guest }];
    if (!isExecuted) return { method: "BOOK", path, headers, body };
    return {
      ...{ method: "EXECUTE", headers },
      body: { action: `BOOK ${path}`, parameters: body },
    };
  }

  /** Every handler ends; then whoever brings an approval learns what became of its call. */
  async end(scheduler: fc.Scheduler): Promise<void> {
    for (const at of [0, 1] as const) this.#nodes.at(at).fault = "none";
    await this.#idle(scheduler);
    for (const at of [0, 1] as const) {
      for (const agent of AGENTS) void this.#halt({ kind: "halt", at, agent, method: "REINSTATE" });
      await this.#idle(scheduler);
    }
    for (const at of [0, 1] as const) void this.#nodes.sweep(at);
    await this.#idle(scheduler);
    for (const at of [0, 1] as const) {
      await this.#nodes.at(at).hear();
      for (const question of this.#questions) {
        void this.#learn(at, question);
        await this.#idle(scheduler);
      }
    }
  }

  /** Every handler ends, and everybody has an answer. */
  #idle(scheduler: fc.Scheduler): Promise<void> {
    return this.#nodes.idle(scheduler, () => {
      for (const one of this.#running.splice(0)) one.end();
    });
  }

  async #learn(at: At, question: Question): Promise<void> {
    if (question.served !== this.#nodes.at(at).registers.name) return;
    const { agent, guest } = question;
    if (this.#unsure.has(agent)) return;
    const step = { at, isOther: false, isExecuted: false, key: undefined, fault: "none" } as const;
    const { status, body, text } = await this.#send(step, { agent, guest, question });
    const isUsed = String(body["error"]?.["code"]) === "approval-used";
    const isKnown = isUsed ? String(body["outcome"]) !== "running" : question.begun === undefined;
    if (status !== 200 && !isKnown) this.wrong.push(`${question.id} is answered ${text}`);
  }

  #nth<Item>(items: readonly Item[], index: number): Item | undefined {
    return items.at(-1 - (index % Math.max(1, items.length)));
  }
}

describe("approvals at two nodes", () => {
  it("let one call begin, which they were given for, and tell what became of it", async () => {
    await liveThrough({
      files: await filesByName(),
      ...{
        modules: ["tasks", "delegation", "floor"],
        begun: BEGUN,
        steps: [STEP, 25],
        numRuns: 40,
      },
      restMs: 31 * 24 * HOUR_MS,
      makeWorld: (nodes, clock, run) => new World(nodes, clock, run),
    });
  });
});
