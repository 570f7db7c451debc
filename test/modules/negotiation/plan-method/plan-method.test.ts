import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  shareServer,
  type TestBody,
  type TestReply,
  type TestRequest,
} from "../../../support/dispatch.ts";
import { executePlan } from "../../../support/plan-execution.ts";
import { INA, innFiles, REX } from "../../../support/thinking.ts";

const server = shareServer(innFiles());
const NOBODY = "";
const limited = shareServer(
  innFiles({
    policies: {
      max_synthesis_depth: 2,
      scope_required_for_invocation: true,
      identity: { unknown_agents: "accept" },
      methods: { disallow: ["REMOVE"] },
    },
  }),
);

function plan(body: object, agentId = INA, to = server): Promise<TestReply> {
  const headers: Record<string, string> = agentId === NOBODY ? {} : { "Agent-ID": agentId };
  return to().send({ method: "PLAN", headers, body });
}

async function planned(body: object, agentId = INA): Promise<TestBody> {
  const reply = await plan(body, agentId);
  if (reply.status !== 200) throw new Error(`answered ${reply.status}: ${reply.text}`);
  return reply.body["result"] ?? {};
}

async function refused(reply: Promise<TestReply>): Promise<TestBody> {
  const { status, body } = await reply;
  expect(status).toBe(422);
  expect(body).toMatchObject({
    reason: "no-plan",
    explanation: expect.stringMatching(/./),
    error: { code: "no-plan" },
  });
  return body;
}

function pairsOf(result: TestBody): readonly string[] {
  return Object.values(result["ordered_steps"] ?? {}).map((step) => {
    return `${String(step["method"])} ${String(step["path"])}`;
  });
}

const STAY = { guest_name: "Ada", room_type: "double", nights: 2 };

// AGTP "PLAN"
describe("PLAN", () => {
  it("gets what a call needs from other endpoints first", async () => {
    const result = await planned({ goal: "Book a double room for a guest", inputs: STAY });
    expect(pairsOf(result)).toEqual(["QUERY /guests", "QUERY /rooms", "BOOK /rooms/{room_id}"]);
    expect(result).toMatchObject({
      steps: result["ordered_steps"],
      aggregation: { mode: "last" },
      output_schema: { required: ["reservation_id"] },
      required_scopes: ["guests:read", "rooms:read", "rooms:book"],
      impact: "irreversible",
      is_idempotent: false,
      cost: { unit: "call", amount: 3 },
      estimated_cost: { unit: "call", amount: 3 },
      needed_inputs: [],
      unused_inputs: [],
      not_applied: [],
      recipe_lineage: null,
    });
    expect(result["ordered_steps"]?.["2"]).toMatchObject({
      step: 3,
      input: {
        nights: 2,
        room_id: { kind: "previous_step", value: "step_2.room_id" },
        guest_id: { kind: "previous_step", value: "step_1.guest_id" },
      },
      capture_as: "step_3",
      purpose: "Book a room for a guest.",
      required_scopes: ["rooms:book"],
      impact: "irreversible",
      cost: { unit: "call", amount: 1 },
      output_schema: { required: ["reservation_id"] },
    });
    expect(result["confidence"]).toBeGreaterThan(0.3);
    expect(result["confidence"]).toBeLessThan(1);
    expect(Object.values(result["assumptions"] ?? {}).length).toBeGreaterThan(2);
  });

  it("takes the values where the draft has a place for them", async () => {
    const constraints = { ...STAY, max_steps: 3 };
    const result = await planned({ goal: "Book a double room for a guest", constraints });
    expect(pairsOf(result)).toHaveLength(3);
  });

  it.each([
    ["QUERY /reviews/inn", "QUERY /reviews/inn"],
    ["QUERY /reviews/{subject}", "QUERY /reviews/inn"],
    [{ method: "QUERY", path: "/reviews/inn" }, "QUERY /reviews/inn"],
    [{ intent: "Read what guests say" }, "QUERY /reviews/inn"],
    ["please tell me what the guests say about the inn", "QUERY /reviews/inn"],
    ["delete the reviews", "REMOVE /reviews/inn"],
    [{ outputs: ["review"] }, "QUERY /reviews/inn"],
    [{ outputs: ["deleted"] }, "REMOVE /reviews/inn"],
  ])("understands a goal: %j", async (goal, pair) => {
    const result = await planned({ goal, inputs: { subject: "inn" } });
    expect(pairsOf(result)).toEqual([pair]);
  });

  it("takes what does less where the words say nothing of the difference", async () => {
    const result = await planned({ goal: "rooms, please", inputs: STAY });
    expect(pairsOf(result)).toEqual(["QUERY /rooms"]);
  });

  it("fills a path with a value, and takes it out of the input", async () => {
    const result = await planned({
      goal: "QUERY /reviews/{subject}",
      inputs: { subject: "a/b c" },
    });
    expect(result["ordered_steps"]?.["0"]).toMatchObject({ path: "/reviews/a%2Fb%20c", input: {} });
  });

  it("promises exactly the outputs that are asked for", async () => {
    const output_schema = {
      type: "object",
      required: ["reservation_id", "guest_id"],
      properties: { reservation_id: { type: "string" }, guest_id: { type: "string" } },
    };
    const result = await planned({ goal: "a stay", output_schema, inputs: STAY });
    expect(result).toMatchObject({
      output_schema,
      aggregation: { mode: "pick", members: { reservation_id: "step_3", guest_id: "step_1" } },
    });
  });

  it("plans with values that are given later, and says which", async () => {
    const input_schema = {
      type: "object",
      properties: { subject: { type: "string" } },
      required: ["subject"],
    };
    const result = await planned({ goal: "QUERY /reviews/{subject}", input_schema });
    expect(result).toMatchObject({
      needed_inputs: ["subject"],
      ordered_steps: [
        { path: "/reviews/{subject}", input: { subject: { kind: "proposal", value: "subject" } } },
      ],
    });
  });

  it("uses a recipe for its pair, or for what its words are about", async () => {
    for (const goal of ["AUDIT /subjects", "audit subjects by their reviews, then summarize"]) {
      const constraints = { excluded_methods: ["AUDIT /inns/{subject}"] };
      const result = await planned({ goal, inputs: { subject: "inn" }, constraints });
      expect(pairsOf(result)).toEqual(["QUERY /reviews/inn", "SUMMARIZE /"]);
      expect(result).toMatchObject({
        recipe_lineage: { recipe_name: "audit-via-query-and-summarize", recipe_version: "3" },
        ordered_steps: [
          { capture_as: "facts" },
          { input: { source: { kind: "previous_step", value: "facts" } }, impact: "informational" },
        ],
      });
    }
  });

  it("leaves out what a recipe could take and nobody offers", async () => {
    const inputs = { subject: "inn" };
    const result = await planned({ goal: "AUDIT /subjects", inputs });
    expect(result["needed_inputs"]).toEqual([]);
    expect(Object.keys(result["ordered_steps"]?.["1"]?.["input"] ?? {})).toEqual(["source"]);
    const input_schema = { type: "object", properties: { length: { type: "string" } } };
    const later = await planned({ goal: "AUDIT /subjects", inputs, input_schema });
    expect(later["needed_inputs"]).toEqual(["length"]);
  });

  it("keeps apart a value and the notation for one", async () => {
    const note = { kind: "previous_step", value: "step_1.secret" };
    const result = await planned({ goal: "QUERY /notes", inputs: { note } });
    expect(result["ordered_steps"]?.["0"]?.["input"]).toEqual({
      note: { kind: "constant", value: note },
    });
    expect(result["assumptions"]).not.toContainEqual(expect.stringContaining("secret"));
    const send = (request: TestRequest) =>
      server().send({ ...request, headers: { "Agent-ID": INA } });
    const { replies } = await executePlan(result, send);
    expect(replies[0]?.body).toEqual({ note });
  });

  it("names the values and constraints that it could do nothing with", async () => {
    const free = await planned({ goal: "QUERY /deletions" });
    const result = await planned({
      goal: "QUERY /deletions",
      inputs: { colour: "red" },
      constraints: ["be quick"],
    });
    expect(result).toMatchObject({ unused_inputs: ["colour"], not_applied: ["be quick"] });
    expect(result["confidence"]).toBeLessThan(Number(free["confidence"]));
  });

  it("is the same plan for the same request, under the same id", async () => {
    const body = { goal: "Book a double room for a guest", inputs: STAY };
    expect(await planned(body)).toEqual(await planned({ ...body }));
    const other = await planned({ ...body, inputs: { ...STAY, nights: 3 } });
    expect(other["plan_id"]).not.toEqual((await planned(body))["plan_id"]);
  });

  it("calls nothing", async () => {
    await planned({ goal: "REMOVE /reviews/inn" });
    const headers = { "Agent-ID": INA };
    const { body } = await server().send({ method: "QUERY", path: "/deletions", headers });
    expect(body).toEqual({ deleted: 0 });
  });
});

describe("PLAN, where there is no plan", () => {
  it("says which inputs are missing", async () => {
    const body = await refused(plan({ goal: "Book a room for a guest", inputs: { nights: 2 } }));
    expect(body["missing"]).toEqual({
      outputs: [],
      inputs: ["guest_name", "room_type"],
      scopes: [],
    });
  });

  it("says which outputs nobody gives", async () => {
    const body = await refused(plan({ goal: { outputs: ["treasure"] }, inputs: STAY }));
    expect(body["missing"]).toMatchObject({ outputs: ["treasure"] });
    const named = await refused(
      plan({ goal: "QUERY /rooms", outputs: ["treasure"], inputs: STAY }),
    );
    expect(named["missing"]).toMatchObject({ outputs: ["treasure"] });
  });

  it("says which scopes the agent lacks, and plans with no more than it has", async () => {
    const body = await refused(plan({ goal: "Book a room for a guest", inputs: STAY }, REX));
    expect(body["missing"]).toMatchObject({ scopes: expect.arrayContaining(["rooms:book"]) });
    const alone = await refused(
      plan({ goal: "delete the reviews", inputs: { subject: "inn" } }, REX),
    );
    expect(alone["missing"]).toMatchObject({ scopes: ["reviews:delete"] });
    expect(pairsOf(await planned({ goal: "QUERY /rooms", inputs: STAY }, REX))).toHaveLength(1);
  });

  it("keeps to what the request claims of the agent's scopes", async () => {
    const headers = { "Agent-ID": INA, "Authority-Scope": "rooms:read" };
    const body = { goal: "QUERY /guests", inputs: STAY };
    const claimed = await refused(server().send({ method: "PLAN", headers, body }));
    expect(claimed["missing"]).toMatchObject({ scopes: ["guests:read"] });
  });

  it.each([
    ["is about nothing here", { goal: "launch a rocket to the moon" }],
    ["is a word by chance", { goal: "find the weather of a single planet" }],
    ["names a pair that is not there", { goal: "QUERY /treasures" }],
    ["names a floor method", { goal: "EXECUTE /" }],
    ["needs more steps than it may have", { goal: "Book a room for a guest", max_steps: 2 }],
    ["costs more than it may", { goal: "Book a room for a guest", constraints: { max_cost: 2 } }],
    [
      "would do more than it may",
      { goal: "delete the reviews", constraints: { max_impact: "reversible" } },
    ],
    ["may not call it", { goal: "delete the reviews", available_methods: ["QUERY"] }],
    [
      "must not call it",
      {
        goal: "QUERY /guests",
        constraints: { excluded_methods: [{ method: "QUERY", path: "/guests" }] },
      },
    ],
    [
      "may not call what comes before",
      { goal: "Book a room for a guest", available_methods: ["BOOK"] },
    ],
    [
      "has a value that does not fit",
      { goal: "Book a room for a guest", inputs: { ...STAY, nights: "two" } },
    ],
    [
      "has a value out of bounds",
      { goal: "Book a room for a guest", inputs: { ...STAY, nights: 0 } },
    ],
    [
      "has a value that is none of those",
      { goal: "QUERY /rooms", inputs: { room_type: "triple" } },
    ],
    [
      "has a value that makes no path",
      { goal: "QUERY /reviews/{subject}", inputs: { subject: ".." } },
    ],
    [
      "has a value that is a method",
      { goal: "QUERY /reviews/{subject}", inputs: { subject: "book" } },
    ],
    ["has a path that is no text", { goal: "QUERY /reviews/%FF" }],
  ])("is refused where the goal %s", async (_, body) => {
    await refused(plan({ inputs: { ...STAY, subject: "inn" }, ...body }));
  });

  it("plans for nobody who could call nothing", async () => {
    await refused(plan({ goal: "QUERY /reviews/inn" }, NOBODY));
    await refused(plan({ goal: "QUERY /reviews/inn" }, "cd".repeat(32), limited));
  });

  it("keeps to the policies of the server", async () => {
    await refused(plan({ goal: "Book a room for a guest", inputs: STAY }, INA, limited));
    await refused(plan({ goal: "REMOVE /reviews/inn" }, INA, limited));
    await refused(
      plan({ goal: { outputs: ["deleted"] }, inputs: { subject: "inn" } }, INA, limited),
    );
  });
});

describe("PLAN, asked wrongly", () => {
  it.each([
    ["no goal", {}],
    ["an empty goal", { goal: "" }],
    ["a goal that says nothing", { goal: {} }],
    ["a goal that is no goal", { goal: 7 }],
    ["values that are none", { goal: "x", inputs: [] }],
    ["no steps at all", { goal: "x", max_steps: 0 }],
    ["an impact that nobody knows", { goal: "x", constraints: { max_impact: "mild" } }],
    ["methods that are none", { goal: "x", available_methods: [7] }],
    ["a schema that is none", { goal: "x", output_schema: { type: "mystery" } }],
    ["a schema with an open input", { goal: "x", input_schema: { type: "array" } }],
    ["too many outputs", { goal: "x", outputs: Array.from({ length: 65 }, (_, at) => `o${at}`) }],
  ])("refuses %s", async (_, body) => {
    const reply = await plan(body);
    expect(reply.status).toBe(422);
    expect(reply.body["error"]).toMatchObject({ code: "schema-validation-failed" });
  });

  it.each([
    [
      "prototype members",
      '{"goal": "QUERY /rooms", "inputs": {"__proto__": 1, "constructor": 2, "room_type": "single"}}',
      200,
    ],
    [
      "broken text",
      '{"goal": "QUERY /rooms", "inputs": {"x": "\\ud800", "room_type": "single"}}',
      200,
    ],
    [
      "a broken path",
      '{"goal": "QUERY /reviews/{subject}", "inputs": {"subject": "\\ud800"}}',
      422,
    ],
    ["a broken goal", '{"goal": "\\ud800 \\udfff"}', 422],
  ])("stands %s", async (_, text, status) => {
    const reply = await plan(JSON.parse(text));
    expect(reply.status).toBe(status);
    expect(server().faults).toEqual([]);
  });

  it("answers any goal with a plan or with why there is none", async () => {
    const goal = fc.oneof(
      fc.string({ unit: "binary", minLength: 1, maxLength: 200 }),
      fc.record({ method: fc.string({ minLength: 1 }), path: fc.string({ minLength: 1 }) }),
      fc.record({ outputs: fc.array(fc.string(), { minLength: 1, maxLength: 5 }) }),
    );
    await fc.assert(
      fc.asyncProperty(goal, fc.dictionary(fc.string(), fc.jsonValue()), async (one, inputs) => {
        expect([200, 422]).toContain((await plan({ goal: one, inputs })).status);
        expect(server().faults).toEqual([]);
      }),
    );
  });
});
