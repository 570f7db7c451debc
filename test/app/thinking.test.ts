/** SUMMARIZE and PLAN over TLS: plans that are executed as they promise, and a server that goes on. */
import { describe, expect, it } from "vitest";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { openDaemon } from "../support/daemon.ts";
import type { TestBody, TestReply } from "../support/dispatch.ts";
import { countTurns, longestTurnOf } from "../support/event-loop.ts";
import { executePlan } from "../support/plan-execution.ts";
import { caller, INA, innFiles, REX } from "../support/thinking.ts";

/** What is wrong with a value under a schema that a plan promised. */
function violations(value: unknown, schema: TestBody | undefined): unknown {
  const place = { file: "plan", key: "output_schema" };
  const { compiled } = createSchemaCompiler().compile({ ...schema }, place);
  return compiled === undefined ? "no schema" : compiled.check(value);
}

function listOf(value: TestBody | undefined): readonly TestBody[] {
  return Object.values(value ?? {});
}

/** The steps did what was said of them, and nothing else was called. */
function expectPromised(plan: TestBody, replies: readonly TestReply[]): void {
  const steps = listOf(plan["ordered_steps"]);
  expect(replies).toHaveLength(steps.length);
  for (const [index, reply] of replies.entries()) {
    expect(reply.status, reply.text).toBe(200);
    const body = steps[index]?.["path"] === ("/" as unknown) ? reply.body["result"] : reply.body;
    expect(violations(body, steps[index]?.["output_schema"])).toBeUndefined();
  }
  const amounts = steps.map((step) => Number(step["cost"]?.["amount"]));
  expect(plan["cost"]).toEqual({ unit: "call", amount: replies.length });
  expect(amounts.reduce((sum, amount) => sum + amount, 0)).toBe(replies.length);
}

const STAY = { guest_name: "Ada", room_type: "double", nights: 2 };

// AGTP "PLAN"
describe("a plan", () => {
  it.each([
    ["of a chain", { goal: "Book a double room for a guest", inputs: STAY }, {}],
    ["of one call", { goal: "QUERY /reviews/{subject}", inputs: { subject: "a/b" } }, {}],
    ["for outputs", { goal: { outputs: ["reservation_id", "guest_id"] }, inputs: STAY }, {}],
    ["of a recipe", { goal: "AUDIT /subjects", inputs: { subject: "inn", length: "brief" } }, {}],
    [
      "with a value that comes later",
      {
        goal: "BOOK /rooms/{room_id}",
        inputs: { guest_name: "Ada", room_type: "single" },
        input_schema: {
          type: "object",
          properties: { nights: { type: "integer" } },
          required: ["nights"],
        },
      },
      { nights: 3 },
    ],
  ])("%s is executed step by step, as it promises", async (_, body, given) => {
    const daemon = await openDaemon(innFiles());
    const send = caller(await daemon.connect(), INA);
    const answer = await send({ method: "PLAN", body });
    expect(answer.status, answer.text).toBe(200);
    const plan = answer.body["result"] ?? {};
    const { replies, captured } = await executePlan(plan, send, given);
    expectPromised(plan, replies);
    const { mode, members } = plan["aggregation"] ?? {};
    const values = [...captured.values()];
    const picked = Object.entries(members ?? {}).map(([name, from]) => {
      const value = captured.get(String(from)) as Readonly<Record<string, unknown>>;
      return [name, value[name]] as const;
    });
    const outputs: Readonly<Record<string, unknown>> = {
      last: values.at(-1),
      merge: Object.assign({}, ...values),
      pick: Object.fromEntries(picked),
    };
    expect(violations(outputs[String(mode)], plan["output_schema"])).toBeUndefined();
  });

  it("of another agent fails where that agent has more authority, and nowhere else", async () => {
    const daemon = await openDaemon(innFiles());
    const client = await daemon.connect();
    const body = { goal: "Book a double room for a guest", inputs: STAY };
    const plan = (await caller(client, INA)({ method: "PLAN", body })).body["result"] ?? {};
    const { replies } = await executePlan(plan, caller(client, REX));
    // The last step lacks what the first one did not answer.
    expect(replies.map(({ status }) => status)).toEqual([455, 200, 422]);
    const own = await caller(client, REX)({ method: "PLAN", body });
    expect(own).toMatchObject({ status: 422, body: { reason: "no-plan" } });
  });

  it("is the same after a restart", async () => {
    const body = { goal: "Book a double room for a guest", inputs: STAY };
    const [first, second] = await Promise.all(
      [1, 2].map(async () => {
        const daemon = await openDaemon(innFiles());
        return (await caller(await daemon.connect(), INA)({ method: "PLAN", body })).body["result"];
      }),
    );
    expect(second).toEqual(first);
  });
});

// AGTP "SUMMARIZE"
describe("a summary", () => {
  // AGTP-API §12.1
  it("is a step of a recipe like any other, for whoever may take all steps", async () => {
    const daemon = await openDaemon(innFiles());
    const send = caller(await daemon.connect(), INA);
    const direct = await send({ method: "SUMMARIZE", body: { source: "/reviews/inn" } });
    const audit = await send({ method: "AUDIT", path: "/inns/inn", body: {} });
    expect(audit.status).toBe(200);
    const { summary, source_hash } = direct.body["result"] ?? {};
    expect(audit.body).toMatchObject({ subject: "inn", summary, source_hash });
  });

  it("of everything that may be read does not keep others waiting", async () => {
    const daemon = await openDaemon(innFiles());
    const send = caller(await daemon.connect(), INA);
    const source = "The inn is old. Ab. Cd ef. ".repeat(9_000);
    const before = cpuMs();
    const loop = countTurns();
    const longest = await longestTurnOf(async () => {
      expect((await send({ method: "SUMMARIZE", body: { source } })).status).toBe(200);
    });
    loop.stop();
    expect(loop.turns).toBeGreaterThan(20);
    // A collection of garbage in one of them may take as long as several others.
    expect(longest).toBeLessThan((cpuMs() - before) / 2);
  });

  it("is given up where nobody waits for it any more", async () => {
    const daemon = await openDaemon(innFiles({ limits: { handler_timeout_ms: 100 } }));
    const body = { source: "The inn is old. ".repeat(16_000) };
    const replies = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const send = caller(await daemon.connect(), INA);
        return (await send({ method: "SUMMARIZE", body })).status;
      }),
    );
    expect(new Set(replies)).toContain(500);
    const send = caller(await daemon.connect(), INA);
    const after = await send({ method: "SUMMARIZE", body: { source: "It is over." } });
    expect(after.status).toBe(200);
  });
});
