/** An agent's turn: its events in order, its tools, its confidence, and what it comes to. */
import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { canonicalForm } from "../../../../src/identity/canonical-form.ts";
import type {
  RuntimeAnswer,
  RuntimeTurn,
} from "../../../../src/modules/openwop/runtime/agent-runtime.ts";
import { type TurnOptions, takeTurn } from "../../../support/openwop-turn.ts";

const CANARY = "sk-canary-rfc0064-do-not-leak-xyz789";
const BOOK = "agtp:BOOK /room";
const RETURN = {
  type: "object",
  required: ["ok"],
  properties: { ok: { type: "boolean" } },
} as const;

/** A runtime that answers so, after it did what is asked. */
function answering(
  answer: Partial<Extract<RuntimeAnswer, { kind: "answered" }>>,
  act: (turn: RuntimeTurn) => Promise<unknown> = () => Promise.resolve(),
): TurnOptions["runtime"] {
  return async (turn) => {
    await act(turn);
    return { kind: "answered", result: null, ...answer };
  };
}

describe("the events of a turn", () => {
  it("are told in order: reasoned, tools in pairs, handed off, decided", async () => {
    const { types, outcome } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }, { agentId: "vendor.test.pack.other" }],
      scopes: ["booking:room"],
      runtime: answering(
        { result: 1, handoff: { toAgentId: "vendor.test.pack.other", reason: "it knows" } },
        async (turn) => {
          await turn.reasoning.add("First a room.");
          await turn.reasoning.close();
          await turn.callTool(BOOK, { nights: 2 });
          await turn.callTool(BOOK, { nights: 3 });
        },
      ),
    });
    expect(types).toEqual([
      "agent.reasoned",
      ...["agent.toolCalled", "agent.toolReturned"],
      ...["agent.toolCalled", "agent.toolReturned"],
      "agent.handoff",
      "agent.decided",
    ]);
    expect(outcome).toEqual({
      kind: "completed",
      result: 1,
      handoffTo: "vendor.test.pack.other",
    });
  });

  it("begin with a reason even where the runtime gives none", async () => {
    const quiet = await takeTurn({ runtime: answering({ result: 1 }) });
    expect(quiet.events[0]).toMatchObject({
      type: "agent.reasoned",
      payload: { reasoning: "No reasoning was given.", verbosity: "summary" },
    });
    const acting = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      runtime: answering({}, (turn) => turn.callTool(BOOK, {})),
    });
    expect(acting.types[0]).toBe("agent.reasoned");
    expect(acting.types.filter((type) => type === "agent.reasoned")).toHaveLength(1);
  });

  it("are none of reasoning where that is off, by the run before the host", async () => {
    const runtime = answering({ reasoning: "because" });
    const off = await takeTurn({ runtime, configurable: { reasoningVerbosity: "off" } });
    expect(off.types).toEqual(["agent.decided"]);
    const full = await takeTurn({
      ...{ runtime, reasoning: { verbosity: "off" as const } },
      configurable: { reasoningVerbosity: "full" },
    });
    expect(full.payload("agent.reasoned")).toMatchObject({
      reasoning: "because",
      verbosity: "full",
    });
  });

  it("cut a summary at its limit, and leave the whole in full", async () => {
    const reasoning = "word ".repeat(2000).trim();
    const runtime = answering({ reasoning });
    const cut = await takeTurn({ runtime, reasoning: { tokenLimit: 10 } });
    expect(
      String(cut.payload("agent.reasoned")["reasoning"]).split(" ").length,
    ).toBeLessThanOrEqual(10);
    const full = await takeTurn({ runtime, configurable: { reasoningVerbosity: "full" } });
    expect(full.payload("agent.reasoned")["reasoning"]).toBe(reasoning);
  });

  it("stream a block in pieces whose sum is the block", async () => {
    const pieces = [
      "The guest wants a room, ",
      `and says ${CANARY.slice(0, 9)}`,
      CANARY.slice(9),
      ".",
    ];
    const { events, types, payload } = await takeTurn({
      reasoning: { streaming: true },
      runtime: answering({}, async ({ reasoning }) => {
        for (const piece of pieces) await reasoning.add(piece);
        await reasoning.close();
      }),
    });
    const deltas = events.filter(({ type }) => type === "agent.reasoning.delta");
    expect(deltas.map((one) => one.payload["sequence"])).toEqual(deltas.map((_, index) => index));
    expect(deltas.length).toBeGreaterThan(1);
    const sum = deltas.map((one) => one.payload["delta"]).join("");
    expect(payload("agent.reasoned")["reasoning"]).toBe(sum);
    expect(sum).toBe("The guest wants a room, and says [REDACTED:api-key].");
    expect(types.lastIndexOf("agent.reasoning.delta")).toBeLessThan(
      types.indexOf("agent.reasoned"),
    );
  });

  it("name no secret, whoever said it", async () => {
    const { events, outcome } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }, { agentId: "vendor.test.pack.other" }],
      secrets: { DOOR: "opensesame" },
      host: () => ({ status: 200, body: { token: CANARY, said: "opensesame" } }),
      scopes: ["booking:room"],
      runtime: answering(
        {
          result: { key: CANARY },
          decision: `opensesame ${CANARY}`,
          reasoning: `Bearer ${CANARY}`,
          handoff: { toAgentId: "vendor.test.pack.other", reason: "opensesame" },
        },
        (turn) => turn.callTool(BOOK, { note: CANARY, opensesame: 1 }),
      ),
    });
    const told = JSON.stringify([events, outcome]);
    expect(told).not.toContain(CANARY);
    expect(told).not.toContain("opensesame");
    expect(told).toContain("[REDACTED:DOOR]");
  });

  it("are a fault when they cannot be kept, even if the runtime hides that", async () => {
    const turn = takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      failEmit: "agent.toolCalled",
      runtime: answering({}, (one) => one.callTool(BOOK, {}).catch(() => undefined)),
    });
    await expect(turn).rejects.toThrow("cannot be kept");
  });
});

describe("a tool call", () => {
  const calling = (toolId: string, input: unknown, answers: unknown[] = []) =>
    answering({}, async (turn) => {
      answers.push(await turn.callTool(toolId, input));
    });

  it("is a pair of events, bound together", async () => {
    const { events } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      scopes: ["booking:*"],
      host: () => ({ status: 200, body: { reservation_id: "r1" } }),
      runtime: calling(BOOK, { nights: 2, guest: "bob" }),
    });
    const [called, returned] = events.filter(({ type }) => type.startsWith("agent.tool"));
    expect(called?.payload).toEqual({
      agentId: "vendor.test.pack.agent",
      toolName: BOOK,
      callId: expect.any(String),
      inputs: { nights: 2, guest: "bob" },
      argsHash: hash("sha256", canonicalForm({ guest: "bob", nights: 2 })),
      principal: "agtp:caller",
      transport: "native",
    });
    expect(returned).toMatchObject({
      causationId: called?.eventId,
      payload: {
        callId: called?.payload["callId"],
        outcome: { reservation_id: "r1" },
        status: "ok",
        durationMs: expect.any(Number),
      },
    });
    expect(returned?.payload).not.toHaveProperty("error");
  });

  it("is made in the agent's name, with what both sides grant", async () => {
    const { calls } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      grants: ["booking:room", "vault:open"],
      scopes: ["booking:*", "payment:make"],
      runtime: calling(BOOK, { nights: 1 }),
    });
    expect(calls).toMatchObject([
      { method: "BOOK", path: "/room", input: { nights: 1 }, scopes: ["booking:room"] },
    ]);
    expect(calls[0]?.agent.name).toBe("vendor.test.pack.agent");
  });

  it.each([
    ["the run's owner lacks", ["booking:room"], []],
    ["the operator did not grant", [], ["booking:room"]],
  ])("is told and not made for a scope that %s", async (_, grants, scopes) => {
    const answers: unknown[] = [];
    const { calls, types, payload } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      ...{ grants, scopes, runtime: calling(BOOK, {}, answers) },
    });
    expect(calls).toEqual([]);
    expect(types).toContain("agent.toolCalled");
    expect(payload("agent.toolReturned")).toMatchObject({
      status: "forbidden",
      error: {
        code: "forbidden",
        details: { scope: "tool", toolName: BOOK, requiredScopes: ["booking:room"] },
      },
    });
    expect(payload("agent.toolReturned")).not.toHaveProperty("durationMs");
    expect(answers).toMatchObject([{ kind: "failed", error: { code: "forbidden" } }]);
  });

  it("is told and not made once it was made too often for the run's owner", async () => {
    const answers: unknown[] = [];
    const asked: unknown[] = [];
    const { calls, types, payload } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      ...{ scopes: ["booking:room"], runtime: calling(BOOK, {}, answers) },
      takeRate: (principal, toolName) => {
        asked.push([principal, toolName]);
        return 750;
      },
    });
    expect(calls).toEqual([]);
    expect(asked).toEqual([["agtp:caller", BOOK]]);
    expect(types).toContain("agent.toolCalled");
    expect(payload("agent.toolReturned")).toMatchObject({
      status: "rate_limited",
      error: {
        code: "rate_limited",
        details: { scope: "tool", toolName: BOOK, retryAfterMs: 750 },
      },
    });
    expect(payload("agent.toolReturned")).not.toHaveProperty("durationMs");
    expect(answers).toMatchObject([{ kind: "failed", error: { code: "rate_limited" } }]);
  });

  it("takes none of the rate for a call that is forbidden", async () => {
    const { payload } = await takeTurn({
      ...{ agents: [{ toolAllowlist: [BOOK] }], grants: [], runtime: calling(BOOK, {}) },
      takeRate: () => 750,
    });
    expect(payload("agent.toolReturned")).toMatchObject({ status: "forbidden" });
  });

  it.each([
    ["is not on the allowlist", [], BOOK],
    ["is no endpoint of this server", ["agtp:BOOK /moon"], "agtp:BOOK /moon"],
    ["is another host's", ["openwop:fs.read"], "openwop:fs.read"],
    ["is an allowed one, misspelt", [BOOK], "agtp:BOOK  /room"],
  ])("is never told when the tool %s", async (_, toolAllowlist, toolId) => {
    const answers: unknown[] = [];
    const { types, calls } = await takeTurn({
      agents: [{ toolAllowlist }],
      ...{ scopes: ["booking:room"], runtime: calling(toolId, {}, answers) },
    });
    expect(types.filter((type) => type.startsWith("agent.tool"))).toEqual([]);
    expect(calls).toEqual([]);
    expect(answers).toMatchObject([{ kind: "failed", error: { code: "tool_not_allowed" } }]);
  });

  it.each([
    [422, { error: { code: "room_unavailable", message: "no room" } }, "error", "room_unavailable"],
    [429, { error: { code: "rate-limited", message: "wait" } }, "rate_limited", "rate-limited"],
    [455, { error: { code: "scope-violation", message: "no" } }, "forbidden", "forbidden"],
    [500, "garbage", "error", "tool_failed"],
    [261, {}, "error", "tool_failed"],
  ])("that is answered with %i is told so", async (status, body, told, code) => {
    const { payload } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      ...{ scopes: ["booking:room"], host: () => ({ status, body }), runtime: calling(BOOK, {}) },
    });
    expect(payload("agent.toolReturned")).toMatchObject({ status: told, error: { code } });
    expect(payload("agent.toolReturned")).not.toHaveProperty("outcome");
    expect("durationMs" in payload("agent.toolReturned")).toBe(told !== "forbidden");
  });

  it("is made with what is told of it, and hands no secret on", async () => {
    const { calls, payload } = await takeTurn({
      ...{ agents: [{ toolAllowlist: [BOOK] }], scopes: ["booking:room"] },
      runtime: calling(BOOK, { note: `use ${CANARY}` }),
    });
    expect(calls[0]?.input).toEqual(payload("agent.toolCalled")["inputs"]);
    expect(JSON.stringify(calls)).not.toContain(CANARY);
  });

  it("fills the parameters of the path, and none of them climbs", async () => {
    const toolId = "agtp:QUERY /rooms/{room_id}";
    const answers: unknown[] = [];
    const { calls } = await takeTurn({
      agents: [{ toolAllowlist: [toolId] }],
      runtime: answering({}, async (turn) => {
        await turn.callTool(toolId, { room_id: "a/b c" });
        answers.push(await turn.callTool(toolId, { room_id: ".." }));
        answers.push(await turn.callTool(toolId, {}));
        answers.push(await turn.callTool(toolId, "text"));
        answers.push(await turn.callTool(toolId, { room_id: "a", note: "\ud800" }));
      }),
    });
    expect(calls.map(({ path }) => path)).toEqual(["/rooms/a%2Fb%20c"]);
    const invalid = { kind: "failed", error: { code: "invalid_arguments" } };
    expect(answers).toMatchObject([invalid, invalid, invalid, invalid]);
  });

  it("is made so often and no more often", async () => {
    const answers: unknown[] = [];
    const { calls } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      ...{ scopes: ["booking:room"], maxToolCalls: 2 },
      runtime: answering({}, async (turn) => {
        const all = [1, 2, 3].map((nights) => turn.callTool(BOOK, { nights }));
        answers.push(...(await Promise.all(all)));
      }),
    });
    expect(calls.map(({ input }) => input["nights"])).toEqual([1, 2]);
    expect(answers[2]).toMatchObject({ error: { code: "tool_limit_exceeded" } });
  });

  it("that comes after the turn is not made", async () => {
    let late: RuntimeTurn["callTool"] | undefined;
    const { calls } = await takeTurn({
      agents: [{ toolAllowlist: [BOOK] }],
      scopes: ["booking:room"],
      runtime: answering({}, (turn) => {
        late = turn.callTool;
        return Promise.resolve();
      }),
    });
    expect(await late?.(BOOK, {})).toMatchObject({ error: { code: "turn_over" } });
    expect(calls).toEqual([]);
  });
});

describe("what a turn comes to", () => {
  it("is a task that its schema does not take, before the agent sees it", async () => {
    let wasAsked = false;
    const { outcome, types } = await takeTurn({
      ...{ taskSchema: RETURN, task: { ok: CANARY } },
      runtime: answering({}, () => {
        wasAsked = true;
        return Promise.resolve();
      }),
    });
    expect(outcome).toMatchObject({
      kind: "failed",
      error: {
        code: "handoff_task_schema_violation",
        details: { errors: [{ path: "/ok", keyword: "type" }] },
      },
    });
    expect([types, wasAsked]).toEqual([[], false]);
  });

  it("is asked for once more when its schema does not take it", async () => {
    const histories: unknown[] = [];
    const results = [{ ok: "yes" }, { ok: true }];
    const { outcome, types } = await takeTurn({
      returnSchema: RETURN,
      runtime: (turn) => {
        histories.push(turn.history);
        return Promise.resolve({ kind: "answered", result: results[histories.length - 1] });
      },
    });
    expect(outcome).toEqual({ kind: "completed", result: { ok: true } });
    const host = expect.stringMatching(/\/ok must be boolean/);
    const remarks = [
      { role: "agent", content: '{"ok":"yes"}' },
      { role: "host", content: host },
    ];
    expect(histories).toEqual([[], remarks]);
    expect(types.filter((type) => type === "agent.decided")).toHaveLength(1);
  });

  it("is a violation when the second answer is no better, and nothing is decided", async () => {
    let asked = 0;
    const { outcome, types } = await takeTurn({
      returnSchema: RETURN,
      runtime: answering({ result: {} }, () => {
        asked += 1;
        return Promise.resolve();
      }),
    });
    expect(outcome).toMatchObject({ error: { code: "handoff_return_schema_violation" } });
    expect(asked).toBe(2);
    expect(types).not.toContain("agent.decided");
  });

  // RFC 0002 §F
  it.each([
    ["the run's before the manifest's", 0.5, { escalationThreshold: 0.4 }, 0.6, "completed"],
    ["the manifest's", 0.5, {}, 0.6, "low-confidence"],
    ["0.7 where neither says", 0.69, {}, undefined, "low-confidence"],
    ["equal is enough", 0.7, {}, undefined, "completed"],
    ["none is no doubt", undefined, {}, undefined, "completed"],
    ["not a number is no doubt", Number.NaN, {}, undefined, "completed"],
    [
      "a threshold that means nothing is passed over",
      0.69,
      { escalationThreshold: "0" },
      undefined,
      "low-confidence",
    ],
  ])("depends on confidence: %s", async (_, confidence, configurable, threshold, kind) => {
    const { outcome, payload } = await takeTurn({
      agents: [threshold === undefined ? {} : { confidence: { defaultThreshold: threshold } }],
      configurable,
      runtime: answering({
        ...{ result: 1, decision: "buy" },
        ...(confidence === undefined ? {} : { confidence }),
      }),
    });
    expect(outcome.kind).toBe(kind);
    expect(payload("agent.decided")["decision"]).toBe("buy");
    if (outcome.kind === "low-confidence") {
      expect(outcome).toEqual({
        kind,
        threshold: threshold ?? 0.7,
        observed: confidence,
        decision: "buy",
        result: 1,
      });
    }
  });

  // What is no number from 0 to 1 cannot be relied on, whichever way it is wrong.
  it.each<readonly [stated: unknown, told: string]>([
    [1.7, "1.7"],
    [85, "85"],
    [-0.2, "-0.2"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
    ["high", '"high"'],
    [true, "true"],
  ])("counts a confidence of %s as the lowest, and reports it", async (confidence, stated) => {
    const { outcome, payload, oddities } = await takeTurn({
      runtime: answering({ result: 1, confidence }),
    });
    expect(outcome).toMatchObject({ kind: "low-confidence", observed: 0, threshold: 0.7 });
    expect(payload("agent.decided")).toMatchObject({ confidence: 0, statedConfidence: stated });
    expect(oddities).toEqual([{ agentId: "vendor.test.pack.agent", stated }]);
  });

  it("reports no confidence that is one", async () => {
    const { payload, oddities } = await takeTurn({
      runtime: answering({ result: 1, confidence: 1 }),
    });
    expect(payload("agent.decided")).not.toHaveProperty("statedConfidence");
    expect(oddities).toEqual([]);
  });

  it("hands nothing on before a word is said, where the agent is not sure", async () => {
    const other = "vendor.test.pack.other";
    const { outcome, types } = await takeTurn({
      agents: [{}, { agentId: other }],
      runtime: answering({ result: 1, confidence: 0.1, handoff: { toAgentId: other } }),
    });
    expect(outcome).toMatchObject({
      ...{ kind: "low-confidence", decision: { action: "handoff" }, handoff: { toAgentId: other } },
    });
    expect(types).toEqual(["agent.reasoned", "agent.decided"]);
  });

  it("is over when its time is, whatever the runtime does", async () => {
    const { outcome } = await takeTurn({
      turnTimeoutMs: 30,
      runtime: () => new Promise(() => undefined),
    });
    expect(outcome).toMatchObject({ error: { code: "agent_timeout" } });
  });

  it("is over when the run is cancelled", async () => {
    const cancelling = new AbortController();
    const { outcome } = await takeTurn({
      signal: cancelling.signal,
      runtime: (turn) => {
        cancelling.abort();
        return new Promise((_, reject) => {
          if (turn.signal.aborted) reject(new Error("gave up"));
        });
      },
    });
    expect(outcome).toMatchObject({ error: { code: "run_cancelled" } });
  });

  it("is refused for agents that are suspended, not there, or handed off to in vain", async () => {
    const runtime = answering({ result: 1 });
    const suspended = await takeTurn({ runtime, lapse: "the agent is suspended" });
    expect(suspended.outcome).toMatchObject({ error: { code: "agent_unavailable" } });
    const missing = await takeTurn({ runtime, agentId: "vendor.test.pack.none" });
    expect(missing.outcome).toMatchObject({ error: { code: "agent_not_found" } });
    const handoff = { toAgentId: "vendor.test.pack.none" };
    const lost = await takeTurn({ runtime: answering({ result: 1, handoff }) });
    expect(lost.outcome).toMatchObject({ error: { code: "agent_not_found" } });
    expect(lost.types).not.toContain("agent.decided");
  });

  it("says what models charged for, both answers together", async () => {
    const usage = { inputTokens: 10, outputTokens: 4 };
    const results = [{}, { ok: true }];
    const { payload } = await takeTurn({
      returnSchema: RETURN,
      runtime: () => Promise.resolve({ kind: "answered", result: results.shift(), usage }),
    });
    expect(payload("agent.decided")["usage"]).toEqual({ inputTokens: 20, outputTokens: 8 });
  });
});
