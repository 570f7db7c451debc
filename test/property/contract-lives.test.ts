/**
 * The lives of contracts, at two nodes whose commits come late, fail before or after they are made, that are reloaded
 * with fewer endpoints, and killed between any two steps, while sessions and agents come to their ends and time goes by
 * in the middle of calls. No step begins under a contract that is over: by its time, by an end that was answered, by its
 * session's, or since its agent may not act. Whoever calls by one that goes on is served.
 */
import { channel } from "node:diagnostics_channel";
import fc from "fast-check";
import { describe, it } from "vitest";
import { uuidv7 } from "../../src/identity/uuid.ts";
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
import {
  AUDIT,
  ask,
  JUDGE,
  NORA,
  negotiationFiles,
  OPT_IN,
  OTTO,
  presenting,
  propose,
} from "../support/negotiation.ts";
import type { FilesByName, ServingNodes } from "../support/serving-nodes.ts";

const HOUR_MS = 3_600_000;
const AGENTS = [NORA, OTTO] as const;
const SERVED = ["all", "no verdicts"] as const;
const CALLS: Readonly<Record<"offer" | "proposal", { method: string; path: string }>> = {
  offer: { method: AUDIT.method, path: AUDIT.path ?? "" },
  proposal: { method: String(JUDGE["method"]), path: String(JUDGE["path"]) },
};

/** A step that has begun, and ends when it is told to. */
interface BegunStep {
  /** The Request-ID of its call. */
  readonly call: string;
  end(): void;
}

const BEGUN = channel("test:contract-life");
const HANDLERS = `
import { channel } from "node:diagnostics_channel";
const begun = channel("${String(BEGUN.name)}");
const step = (call, body) =>
  new Promise((resolve) => begun.publish({ call, end: () => resolve({ body }) }));
export const facts = ({ requestId, input }) => step(requestId, { facts: ["old"], about: input.subject });
export const verdict = ({ requestId }) => step(requestId, { verdict: "guilty" });
export const place = () => ({ body: { placed: "" } });
`;

function filesByName(): FilesByName {
  const identity = { inspect_acl: "public", lifecycle_auth: "open" };
  const tables = { policies: { identity }, synthesis: { session_ttl_seconds: 3_600 } };
  const all: Record<string, string> = { ...negotiationFiles(tables), "handlers.mjs": HANDLERS };
  const { "endpoints/verdict.toml": _, "recipes/audit.toml": __, ...fewer } = all;
  return { all, "no verdicts": fewer };
}

type Step =
  | {
      readonly kind: "make";
      readonly at: At;
      readonly agent: string;
      readonly by: "offer" | "proposal";
      readonly session: string | undefined;
      readonly isPersistent: boolean;
      readonly fault: CommitFault;
    }
  /** From the last contract, or step, back. */
  | {
      readonly kind: "call";
      readonly at: At;
      readonly index: number;
      readonly isStranger: boolean;
      readonly fault: CommitFault;
    }
  | { readonly kind: "end-step"; readonly index: number }
  | {
      readonly kind: "end-contract";
      readonly at: At;
      readonly index: number;
      readonly method: "REVOKE" | "SUSPEND";
      readonly fault: CommitFault;
    }
  | {
      readonly kind: "end-session";
      readonly at: At;
      readonly agent: string;
      readonly session: string;
      readonly fault: CommitFault;
    }
  | { readonly kind: "retire"; readonly at: At; readonly agent: string; readonly method: Standing }
  | HearStep
  | { readonly kind: "restart"; readonly at: At }
  | { readonly kind: "reload"; readonly at: At; readonly name: (typeof SERVED)[number] }
  | { readonly kind: "wait"; readonly ms: number };

type Standing = "DEACTIVATE" | "REINSTATE";

const index = fc.constantFrom(0, 0, 0, 1, 2);
const agent = fc.constantFrom(NORA, NORA, OTTO);
const at = AT;
const fault = FAULT;
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ kind: fc.constant("make" as const), at, agent, fault },
      by: fc.constantFrom("offer" as const, "proposal"),
      session: fc.constantFrom(undefined, "s", "s", "t"),
      isPersistent: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ kind: fc.constant("call" as const), at, index, fault },
      isStranger: fc.constantFrom(false, false, false, false, true),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("end-step" as const), index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant("end-contract" as const), at, index, fault },
      method: fc.constantFrom("REVOKE" as const, "SUSPEND"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant("end-session" as const), at, agent, fault },
      session: fc.constantFrom("s", "s", "t"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant("retire" as const), at, agent },
      method: fc.constantFrom<Standing>("DEACTIVATE", "REINSTATE", "REINSTATE"),
    }),
  },
  { weight: 2, arbitrary: HEAR },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), at }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant("reload" as const), at, name: fc.constantFrom(...SERVED) },
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

/** A contract whose making was answered. */
interface Made {
  readonly id: string;
  readonly agent: string;
  readonly by: "offer" | "proposal";
  /** The session that it ends with. */
  readonly session: string | undefined;
  readonly expiresAt: number;
  /** Its end was answered. */
  isOver: boolean;
  /** Somebody has asked for its end. */
  mayBeOver: boolean;
}

/** A call that was made. */
interface Call {
  readonly id: string;
  readonly at: At;
  /** Of the process that it was made to. */
  readonly life: number;
  readonly agent: string;
  readonly contract: Made;
  readonly wasHalted: boolean;
  /** Nothing keeps it from being served. */
  isGood: boolean;
  isAnswered: boolean;
}

class World {
  readonly #nodes: ServingNodes;
  readonly #clock: { at: number };
  readonly #run: string;
  readonly #contracts: Made[] = [];
  readonly #calls = new Map<string, Call>();
  readonly #running: BegunStep[] = [];
  /** By agent, the last change of its standing, and whether it was answered. */
  readonly #standings = new Map<string, { readonly method: Standing; isAnswered: boolean }>();
  readonly #endedSessions = new Set<string>();
  readonly #endingSessions = new Set<string>();
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
    const begun = message as BegunStep;
    const call = this.#calls.get(begun.call);
    // An offer is not made where its agent has the contract: it is called.
    if (call === undefined) {
      begun.end();
      return;
    }
    // A process that was killed does nothing more.
    if (call.life !== this.#nodes.at(call.at).life) return;
    this.#running.push(begun);
    const { contract, agent, wasHalted } = call;
    const said = `a step of ${call.id} began under ${contract.id}, which`;
    if (agent !== contract.agent) this.wrong.push(`${said} is another agent's`);
    if (contract.expiresAt <= this.#clock.at) this.wrong.push(`${said} has expired`);
    if (this.#isOver(contract)) this.wrong.push(`${said} is over`);
    if (wasHalted && this.#isHalted(agent)) this.wrong.push(`${said} is a halted agent's`);
  };

  #isOver({ isOver, session }: Made): boolean {
    return isOver || (session !== undefined && this.#endedSessions.has(session));
  }

  #mayBeOver({ mayBeOver, session }: Made): boolean {
    return mayBeOver || (session !== undefined && this.#endingSessions.has(session));
  }

  #isHalted(agent: string): boolean {
    const standing = this.#standings.get(agent);
    return standing?.method === "DEACTIVATE" && standing.isAnswered;
  }

  #isActive(agent: string): boolean {
    if (this.#unsure.has(agent)) return false;
    const standing = this.#standings.get(agent);
    return standing === undefined || (standing.method === "REINSTATE" && standing.isAnswered);
  }

  /** Both serve everything, and there is a contract of a session. */
  async begin(scheduler: fc.Scheduler): Promise<void> {
    for (const at of [0, 1] as const) {
      if (this.#nodes.at(at).registers.name === "all") continue;
      void this.#nodes.reload(at, "all");
    }
    await this.#nodes.idle(scheduler);
    void this.#make({
      ...{ kind: "make", at: 0, agent: NORA, by: "proposal", session: "s" },
      ...{ isPersistent: false, fault: "none" },
    });
    await this.#nodes.idle(scheduler);
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "wait":
        this.#clock.at += step.ms;
        return;
      case "end-step": {
        const one = this.#nth(this.#running, step.index);
        if (one === undefined) return;
        this.#running.splice(this.#running.indexOf(one), 1);
        one.end();
        return;
      }
      case "hear":
        return this.#nodes.at(step.at).hear(undefined, step.isMuch);
      case "restart":
        this.#spoil((call) => call.at === step.at);
        return this.#nodes.restart(step.at);
      case "reload":
        if (!this.#nodes.at(step.at).isServing) return;
        return this.#nodes.reload(step.at, step.name);
      default:
        if (!this.#nodes.at(step.at).isServing) return;
        if ("fault" in step) this.#disturb(step.at, step.fault);
        return this.#serve(step);
    }
  }

  async #serve(
    step: Extract<Step, { kind: "make" | "call" | "end-contract" | "end-session" | "retire" }>,
  ): Promise<void> {
    switch (step.kind) {
      case "make":
        return this.#make(step);
      case "call": {
        const contract = this.#nth(this.#contracts, step.index);
        return contract && this.#call(step, contract);
      }
      case "end-contract": {
        const contract = this.#nth(this.#contracts, step.index);
        return contract && this.#endContract(step, contract);
      }
      case "end-session":
        return this.#endSession(step);
      case "retire":
        return this.#stand(step.at, step.agent, step.method);
    }
  }

  /** Calls that are not answered yet have an excuse. */
  #spoil(isMeant: (call: Call) => boolean): void {
    for (const call of this.#calls.values()) {
      if (!call.isAnswered && isMeant(call)) call.isGood = false;
    }
  }

  #disturb(at: At, fault: CommitFault): void {
    this.#nodes.at(at).fault = fault;
    if (fault !== "none") this.#spoil((call) => call.at === at);
  }

  #send(at: At, agent: string, request: TestRequest, headers = {}): Promise<TestReply> {
    return ask(this.#nodes.answering(at), agent, request, headers);
  }

  async #make(step: Extract<Step, { kind: "make" }>): Promise<void> {
    const { at, agent, by, isPersistent } = step;
    // An agent whose proposals are rejected may make no more.
    if (this.#nodes.at(at).registers.name !== "all") return;
    const session = step.session && `${this.#run}-${agent.slice(0, 2)}-${step.session}`;
    const within = session === undefined ? {} : { "Session-ID": session };
    const wish = isPersistent ? { ...JUDGE, persistent: true } : JUDGE;
    const request = by === "offer" ? AUDIT : propose(wish);
    const opt = by === "offer" ? OPT_IN : {};
    const { status, body, text } = await this.#send(at, agent, request, { ...within, ...opt });
    if (status === 500) this.wrong.push(`${by} was answered ${text}`);
    if (status !== (by === "offer" ? 461 : 263)) return;
    const isOfSession = by === "offer" || String(body["persistent"]) !== "true";
    this.#contracts.push({
      ...{ id: String(body["synthesis_id"]), agent, by },
      session: isOfSession ? session : undefined,
      expiresAt: Date.parse(String(body["expires_at"])),
      ...{ isOver: false, mayBeOver: false },
    });
  }

  async #call({ at, isStranger }: Extract<Step, { kind: "call" }>, contract: Made): Promise<void> {
    const node = this.#nodes.at(at);
    const agent = isStranger ? AGENTS.find((one) => one !== contract.agent) : contract.agent;
    if (agent === undefined) return;
    const wasOver = this.#isOver(contract) || contract.expiresAt <= this.#clock.at;
    const call: Call = {
      ...{ id: uuidv7(), at, life: node.life, agent, contract },
      wasHalted: this.#isHalted(agent),
      isGood:
        !isStranger &&
        node.fault === "none" &&
        node.registers.name === "all" &&
        !this.#mayBeOver(contract) &&
        this.#isActive(agent),
      isAnswered: false,
    };
    this.#calls.set(call.id, call);
    const headers = { ...presenting(contract.id), "Request-ID": call.id };
    const request = { ...CALLS[contract.by], body: { subject: this.#run } };
    const { status, text } = await this.#send(at, agent, request, headers);
    call.isAnswered = true;
    const isGood = call.isGood && contract.expiresAt > this.#clock.at;
    const said = `${call.id} under ${contract.id} was answered ${status} ${text}`;
    if (isGood && status !== 200) this.wrong.push(said);
    if ((wasOver || isStranger) && status === 200) this.wrong.push(said);
    if (status === 500) this.wrong.push(said);
  }

  async #endContract(
    { at, method }: Extract<Step, { kind: "end-contract" }>,
    contract: Made,
  ): Promise<void> {
    contract.mayBeOver = true;
    this.#spoil((call) => call.contract === contract);
    const target = method === "REVOKE" ? { target: "contract" } : {};
    const body = { ...target, synthesis_id: contract.id };
    const { status } = await this.#send(at, contract.agent, { method, body });
    if (status === 200) contract.isOver = true;
  }

  async #endSession(step: Extract<Step, { kind: "end-session" }>): Promise<void> {
    const { at, agent } = step;
    const session = `${this.#run}-${agent.slice(0, 2)}-${step.session}`;
    this.#endingSessions.add(session);
    this.#spoil(({ contract }) => contract.session === session);
    const body = { target: "session", session_id: session };
    const { status } = await this.#send(at, agent, { method: "REVOKE", body });
    if (status === 200) this.#endedSessions.add(session);
  }

  async #stand(at: At, agent: string, method: Standing): Promise<void> {
    this.#spoil((call) => call.agent === agent);
    // Until it is answered it may hold at any time, whatever is said of the agent meanwhile.
    if (method === "DEACTIVATE") this.#unsure.add(agent);
    const standing = { method, isAnswered: false };
    this.#standings.set(agent, standing);
    const { status } = await ask(this.#nodes.answering(at), undefined, {
      method,
      body: { agent_id: agent },
    });
    if (status === 200 && method === "DEACTIVATE") this.#unsure.delete(agent);
    if (status === 200) standing.isAnswered = true;
  }

  /** Every step ends, and everybody may act again. */
  async end(scheduler: fc.Scheduler): Promise<void> {
    for (const at of [0, 1] as const) this.#nodes.at(at).fault = "none";
    await this.#nodes.idle(scheduler, () => {
      for (const one of this.#running.splice(0)) one.end();
    });
    for (const at of [0, 1] as const) {
      for (const agent of AGENTS) void this.#stand(at, agent, "REINSTATE");
      await this.#nodes.idle(scheduler);
    }
  }

  #nth<Item>(items: readonly Item[], index: number): Item | undefined {
    return items.at(-1 - (index % Math.max(1, items.length)));
  }
}

// AGTP-API §10.1.4, §10.8
describe("contracts at two nodes", () => {
  it("are called while they are good, and by no step after", async () => {
    await liveThrough({
      files: filesByName(),
      ...{
        modules: ["tasks", "negotiation", "floor"],
        begun: BEGUN,
        steps: [STEP, 30],
        numRuns: 40,
      },
      restMs: 31 * 24 * HOUR_MS,
      makeWorld: (nodes, clock, run) => new World(nodes, clock, run),
    });
  });
});
