/** Turns without a model: nobody's, and a function's. */
import { describe, expect, it } from "vitest";
import { createFunctionRuntime } from "../../../../src/modules/openwop/runtime/function-runtime.ts";
import { createDeterministicRuntime } from "../../../../src/modules/openwop/runtime/load-runtime.ts";
import { type TurnOptions, takeTurn } from "../../../support/openwop-turn.ts";

const BOOK = "agtp:BOOK /room";

describe("a turn that nobody takes", () => {
  const runtime = createDeterministicRuntime(false);
  const take: TurnOptions["runtime"] = (turn) => runtime.takeTurn(turn);
  const returnSchema = {
    type: "object",
    required: ["urgency", "minutes"],
    properties: { urgency: { enum: ["low", "high"] }, minutes: { type: "integer", minimum: 5 } },
  };

  it("is reasoned and decided, and comes to a result of the schema", async () => {
    const { types, outcome } = await takeTurn({ runtime: take, returnSchema });
    expect(types).toEqual(["agent.reasoned", "agent.decided"]);
    expect(outcome).toEqual({ kind: "completed", result: { urgency: "low", minutes: 5 } });
  });

  it("is the same every time", async () => {
    const [one, other] = [await takeTurn({ runtime: take }), await takeTurn({ runtime: take })];
    expect(one.events).toEqual(other.events);
    expect(one.outcome).toEqual({
      kind: "completed",
      result: { agentId: "vendor.test.pack.agent", task: "a task" },
    });
  });

  it("breaks the schema only for the public suite, where that is asked for", async () => {
    const task = { scenario: "mock-return-violation" };
    const probe = createDeterministicRuntime(true);
    const asked = await takeTurn({ runtime: (turn) => probe.takeTurn(turn), returnSchema, task });
    expect(asked.outcome).toMatchObject({ error: { code: "handoff_return_schema_violation" } });
    const plain = await takeTurn({ runtime: take, returnSchema, task });
    expect(plain.outcome.kind).toBe("completed");
  });

  it("fails where no value can be thought of", async () => {
    const { outcome } = await takeTurn({
      runtime: take,
      returnSchema: { pattern: "^x{7}$", type: "string" },
    });
    expect(outcome).toMatchObject({ error: { code: "handoff_return_schema_violation" } });
  });
});

describe("a function of the operator's", () => {
  const faults: unknown[] = [];
  const take = (fn: (turn: never) => unknown): TurnOptions["runtime"] => {
    const runtime = createFunctionRuntime({
      take: fn as (turn: unknown) => unknown,
      onFault: (error) => faults.push(error),
    });
    return (turn) => runtime.takeTurn(turn);
  };

  interface GivenTurn {
    readonly agent: { readonly agentId: string };
    readonly prompt: string;
    readonly task: unknown;
    readonly tools: readonly { readonly toolId: string }[];
    readonly history: readonly unknown[];
    readonly signal: AbortSignal;
    callTool(toolId: string, input?: unknown): Promise<{ outcome?: unknown; error?: unknown }>;
    reason(text: string): Promise<void>;
  }

  it("is given the turn, calls tools, and answers", async () => {
    const { outcome, types, calls } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      scopes: ["booking:room"],
      host: () => ({ status: 200, body: { id: 7 } }),
      runtime: take(async (turn: GivenTurn): Promise<unknown> => {
        await turn.reason("It wants a room.");
        const booked = await turn.callTool(turn.tools[0]?.toolId ?? "", { nights: 1 });
        const refused = await turn.callTool("agtp:BOOK /moon");
        return {
          result: { booked, refused, task: turn.task, prompt: turn.prompt },
          ...{ decision: "book", confidence: 0.95 },
        };
      }),
    });
    expect(types).toEqual([
      ...["agent.reasoned", "agent.toolCalled", "agent.toolReturned", "agent.decided"],
    ]);
    expect(calls).toHaveLength(1);
    expect(outcome).toEqual({
      kind: "completed",
      result: {
        booked: { outcome: { id: 7 } },
        refused: { error: { code: "tool_not_allowed", message: "there is no such tool" } },
        ...{ task: "a task", prompt: "You are an agent." },
      },
    });
  });

  it("may be synchronous, and may hand off by a name alone", async () => {
    const { outcome } = await takeTurn({
      agents: [{}, { agentId: "vendor.test.pack.other" }],
      runtime: take((): unknown => ({ result: 1, handoff: "vendor.test.pack.other" })),
    });
    expect(outcome).toMatchObject({ handoffTo: "vendor.test.pack.other" });
  });

  it("is told of its fault when it is asked once more", async () => {
    const { outcome } = await takeTurn({
      returnSchema: { type: "number" },
      runtime: take(({ history }: GivenTurn): unknown => ({
        result: history.length === 0 ? "no" : 7,
      })),
    });
    expect(outcome).toEqual({ kind: "completed", result: 7 });
  });

  it.each<readonly [what: string, fn: () => unknown, code: string]>([
    ["throws", () => Promise.reject(new Error("secret detail")), "agent_failed"],
    [
      "throws at once",
      () => {
        throw new TypeError("secret detail");
      },
      "agent_failed",
    ],
    ["returns nothing", () => undefined, "agent_malformed_answer"],
    ["returns a text", () => "done", "agent_malformed_answer"],
    [
      "returns a circle",
      () => {
        const circle: Record<string, unknown> = {};
        circle["self"] = circle;
        return circle;
      },
      "agent_malformed_answer",
    ],
    [
      "returns what throws when it is looked at",
      () => ({
        get result() {
          throw new Error("secret detail");
        },
      }),
      "agent_malformed_answer",
    ],
  ])("that %s fails the turn, and no more is said", async (_, fn, code) => {
    const { outcome, events } = await takeTurn({ runtime: take(fn) });
    expect(outcome).toMatchObject({ kind: "failed", error: { code } });
    expect(JSON.stringify([outcome, events])).not.toContain("secret detail");
  });

  it.each([
    ["nested deeper than anybody reads", JSON.parse(`${"[".repeat(99)}${"]".repeat(99)}`)],
    ["longer than anybody looks through", "x".repeat(5_000_000)],
    ["no JSON", 10n],
  ])("that returns a result that is %s fails the turn", async (_, result) => {
    const { outcome } = await takeTurn({ runtime: take((): unknown => ({ result })) });
    expect(outcome).toMatchObject({ error: { code: "agent_malformed_answer" } });
  });

  const circle: Record<string, unknown> = {};
  circle["self"] = circle;

  it.each([
    ["no JSON", { nights: 2n }],
    ["a circle", circle],
    ["no object", [1]],
    [
      "what throws when it is looked at",
      {
        get nights(): number {
          throw new Error("no");
        },
      },
    ],
  ])("is told of arguments that are %s, and nothing is told of such a call", async (_, input) => {
    const answers: unknown[] = [];
    const { types } = await takeTurn({
      ...{ agents: [{ toolAllowlist: [BOOK] }], scopes: ["booking:room"] },
      runtime: take(async ({ callTool }: GivenTurn): Promise<unknown> => {
        answers.push(await callTool(BOOK, input));
        return { result: 1 };
      }),
    });
    expect(answers).toMatchObject([{ error: { code: "invalid_arguments" } }]);
    expect(types).toEqual(["agent.reasoned", "agent.decided"]);
  });

  it("calls with the arguments as they were when it called", async () => {
    const { calls } = await takeTurn({
      ...{ agents: [{ toolAllowlist: [BOOK] }], scopes: ["booking:room"] },
      runtime: take(async ({ callTool }: GivenTurn): Promise<unknown> => {
        const input = { nights: 2 };
        const called = callTool(BOOK, input);
        input.nights = 99;
        await called;
        return { result: 1 };
      }),
    });
    expect(calls).toMatchObject([{ input: { nights: 2 } }]);
  });

  it("need not wait for what it says and calls: all of it comes before the decision", async () => {
    let late: GivenTurn["reason"] | undefined;
    const { types, events } = await takeTurn({
      ...{ agents: [{ toolAllowlist: [BOOK] }], scopes: ["booking:room"] },
      runtime: take(({ callTool, reason }: GivenTurn): unknown => {
        late = reason;
        void reason("first, that the guest wants a room");
        void reason("then, that there is one");
        void callTool(BOOK, { nights: 1 });
        return Promise.resolve().then(() => ({ result: 1 }));
      }),
    });
    expect(types).toEqual([
      ...["agent.reasoned", "agent.reasoned", "agent.toolCalled", "agent.toolReturned"],
      "agent.decided",
    ]);
    expect(events.slice(0, 2).map(({ payload }) => payload["reasoning"])).toEqual([
      ...["first, that the guest wants a room", "then, that there is one"],
    ]);
    await late?.("and after all that, a thought");
    expect(events).toHaveLength(5);
  });

  it.each([
    ["calls tools", ({ callTool }: GivenTurn) => callTool(BOOK, {})],
    ["gives reasons", ({ reason }: GivenTurn) => reason("")],
  ])("that %s without end keeps nobody waiting, and ends with its time", async (_, step) => {
    let end = (_: unknown): void => undefined;
    const thrown = new Promise<unknown>((resolve) => {
      end = resolve;
    });
    const { outcome } = await takeTurn({
      turnTimeoutMs: 30,
      runtime: take(async (turn: GivenTurn): Promise<unknown> => {
        try {
          for (;;) await step(turn);
        } catch (error) {
          end(error);
          throw error;
        }
      }),
    });
    expect(outcome).toMatchObject({ error: { code: "agent_timeout" } });
    expect(await thrown).toHaveProperty("name", "TimeoutError");
  });

  it("is not waited for when its time is over", async () => {
    const { outcome } = await takeTurn({
      turnTimeoutMs: 30,
      runtime: take((): unknown => new Promise(() => undefined)),
    });
    expect(outcome).toMatchObject({ error: { code: "agent_timeout" } });
  });
});
