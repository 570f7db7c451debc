/**
 * Calls under Idempotency-Keys at two nodes whose commits come late, fail before or after they are made, that are
 * reloaded and killed between any two steps: of a function, of a composition, and of what EXECUTE and DELEGATE have done.
 * A key's call is done once, and a caller that asks again after an answer has the same one, at whichever node.
 */
import { channel } from "node:diagnostics_channel";
import fc from "fast-check";
import { describe, it } from "vitest";
import { agentFile, configFile, endpointFile } from "../support/deployment.ts";
import type { TestRequest } from "../support/dispatch.ts";
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

const AGENT = "a1".repeat(32);
const WORKER = "b2".repeat(32);
const DAY_MS = 24 * 3_600_000;
const KINDS = ["function", "composition", "EXECUTE", "DELEGATE"] as const;
const SERVED = ["before", "after"] as const;

/** A handler that has begun, and ends when it is told to. */
interface Begun {
  readonly subject: string;
  end(): void;
}

const BEGUN = channel("test:idempotent-call");
const HANDLERS = `
import { channel } from "node:diagnostics_channel";
const begun = channel("${String(BEGUN.name)}");
let made = 0;
export const make = ({ input: { subject } }) =>
  new Promise((resolve) => {
    made += 1;
    const body = { made: subject + " " + made };
    begun.publish({ subject, end: () => resolve({ body }) });
  });
`;

const STEP_OF = `
[[recipe.steps]]
method = "CREATE"
path = "/things"
[recipe.steps.parameters.subject]
kind = "proposal"
value = "subject"
`;
const RECIPE = `
[[recipe]]
name = "twice"
version = "1"
description = "Makes a thing twice."
aggregation = { mode = "list" }
${STEP_OF}${STEP_OF}`;

function filesByName(): FilesByName {
  const making = { properties: { subject: { type: "string" } }, required: ["subject"] };
  const function_ = { type: "registered_function", function: "handlers.make" };
  const things = { ...making, method: "CREATE", path: "/things", handler: function_ };
  const before = {
    "agtp-server.toml": configFile(),
    "handlers.mjs": HANDLERS,
    "recipes/twice.toml": RECIPE,
    "endpoints/things.toml": endpointFile(things),
    "endpoints/pairs.toml": endpointFile({
      ...{ ...making, method: "CREATE", path: "/pairs", errors: ["composition_failed"] },
      handler: { type: "composition", recipe: "twice" },
    }),
    "agents/alma.agent.json": agentFile({ agent_id: AGENT, name: "alma" }),
    "agents/boris.agent.json": agentFile({ agent_id: WORKER, name: "boris" }),
  };
  const other = endpointFile({ ...things, description: "Another one." } as typeof things);
  return { before, after: { ...before, "endpoints/things.toml": other } };
}

type Kind = (typeof KINDS)[number];

const REQUESTS: Readonly<Record<Kind, (subject: string) => TestRequest>> = {
  function: (subject) => ({ method: "CREATE", path: "/things", body: { subject } }),
  composition: (subject) => ({ method: "CREATE", path: "/pairs", body: { subject } }),
  EXECUTE: (subject) => ({
    method: "EXECUTE",
    body: { action: "CREATE /things", parameters: { subject } },
  }),
  DELEGATE: (subject) => ({
    method: "DELEGATE",
    body: {
      target_agent_id: "boris",
      task: { action: "CREATE /things", parameters: { subject } },
      authority_scope: [],
    },
  }),
};

type Step =
  | {
      readonly kind: "ask";
      readonly at: At;
      readonly of: Kind;
      readonly key: string;
      readonly isOther: boolean;
      readonly fault: CommitFault;
    }
  | { readonly kind: "end"; readonly index: number }
  | { readonly kind: "restart"; readonly at: At }
  | { readonly kind: "reload"; readonly at: At; readonly name: (typeof SERVED)[number] }
  | HearStep;

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ kind: fc.constant("ask" as const), at: AT, of: fc.constantFrom(...KINDS) },
      ...{ key: fc.constantFrom("k", "k", "l"), fault: FAULT },
      isOther: fc.constantFrom(false, false, false, false, true),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({ kind: fc.constant("end" as const), index: fc.nat(2) }),
  },
  { weight: 2, arbitrary: HEAR },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), at: AT }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant("reload" as const), at: AT, name: fc.constantFrom(...SERVED) },
    }),
  },
);

/** A call under way, and whether nothing disturbs it. */
interface Call {
  readonly at: At;
  isGood: boolean;
}

class World {
  readonly #nodes: ServingNodes;
  readonly #run: string;
  /** By subject, how many handlers have begun. */
  readonly #begun = new Map<string, number>();
  /** By subject, what was answered. */
  readonly #answers = new Map<string, string>();
  /** Subjects whose answer is kept: it was given, and the store did not fail. */
  readonly #kept = new Set<string>();
  readonly #asking = new Set<Call>();
  readonly #running: Begun[] = [];
  readonly wrong: string[] = [];

  constructor(nodes: ServingNodes, run: number) {
    this.#nodes = nodes;
    this.#run = `run${run}`;
  }

  readonly take = (message: unknown): void => {
    const begun = message as Begun;
    const { subject } = begun;
    if (!subject.startsWith(`${this.#run}-`)) return;
    const count = (this.#begun.get(subject) ?? 0) + 1;
    this.#begun.set(subject, count);
    if (count > (subject.includes("composition") ? 2 : 1))
      this.wrong.push(`${subject} is made again`);
    this.#running.push(begun);
  };

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "ask":
        return this.#ask(step);
      case "end": {
        const one = this.#running.at(-1 - (step.index % Math.max(1, this.#running.length)));
        if (one === undefined) return;
        this.#running.splice(this.#running.indexOf(one), 1);
        one.end();
        return;
      }
      case "hear":
        return this.#nodes.at(step.at).hear(undefined, step.isMuch);
      case "restart":
        this.#disturb(step.at);
        return this.#nodes.restart(step.at);
      case "reload":
        if (!this.#nodes.at(step.at).isServing) return;
        return this.#nodes.reload(step.at, step.name);
    }
  }

  #disturb(at: At): void {
    for (const call of this.#asking) if (call.at === at) call.isGood = false;
  }

  async #ask({ at, of, key, isOther, fault }: Extract<Step, { kind: "ask" }>): Promise<void> {
    const node = this.#nodes.at(at);
    if (!node.isServing) return;
    node.fault = fault;
    if (fault !== "none") this.#disturb(at);
    const subject = `${this.#run}-${of}-${key}${isOther ? "-other" : ""}`;
    const headers = { "Idempotency-Key": `${this.#run}-${of}-${key}` };
    const wasKept = this.#kept.has(subject);
    const call = { at, isGood: fault === "none" };
    this.#asking.add(call);
    const request = { ...REQUESTS[of](subject), headers };
    const { status, body, text } = await askAs(this.#nodes.answering(at), AGENT, request);
    this.#asking.delete(call);
    const said = `${subject} was answered ${status} ${text}`;
    if (![200, 409, 503].includes(status)) this.wrong.push(said);
    if (status !== 200) {
      if (wasKept && call.isGood) this.wrong.push(`${said}, and is kept`);
      return;
    }
    const made = JSON.stringify(body["result"] ?? body["results"] ?? body);
    if (!made.includes(`${subject} `)) this.wrong.push(said);
    const before = this.#answers.get(subject) ?? made;
    if (before !== made) this.wrong.push(`${said} after ${before}`);
    this.#answers.set(subject, made);
    if (call.isGood) this.#kept.add(subject);
  }

  async end(scheduler: fc.Scheduler): Promise<void> {
    for (const at of [0, 1] as const) this.#nodes.at(at).fault = "none";
    await this.#idle(scheduler);
    for (const at of [0, 1] as const) {
      for (const of of KINDS) {
        for (const key of ["k", "l"]) {
          void this.#ask({ kind: "ask", at, of, key, isOther: false, fault: "none" });
          await this.#idle(scheduler);
        }
      }
    }
  }

  /** Every handler ends, and everybody has an answer. */
  #idle(scheduler: fc.Scheduler): Promise<void> {
    return this.#nodes.idle(scheduler, () => {
      for (const one of this.#running.splice(0)) one.end();
    });
  }
}

// AGTP-API §10.1.5
describe("calls under Idempotency-Keys at two nodes", () => {
  it("are done once, and answered alike", async () => {
    await liveThrough({
      files: filesByName(),
      ...{ modules: ["delegation"], begun: BEGUN, steps: [STEP, 25], numRuns: 30 },
      restMs: 2 * DAY_MS,
      makeWorld: (nodes, _clock, run) => new World(nodes, run),
    });
  });
});
