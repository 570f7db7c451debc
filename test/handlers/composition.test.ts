import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AggregationMode, ParameterSource, Recipe } from "../../src/endpoint/recipe.ts";
import { aggregate, createComposition } from "../../src/handlers/composition.ts";
import type { DispatchResult, HandlerResult } from "../../src/handlers/handler.ts";
import { makeRecipe } from "../support/endpoint-definition.ts";
import { type Dispatched, makeCall, type TestCall } from "../support/handler-call.ts";

const proposal = (value: string): ParameterSource => ({ kind: "proposal", value });
const previous = (value: string): ParameterSource => ({ kind: "previous_step", value });
const constant = (value: unknown): ParameterSource => ({ kind: "constant", value });

interface Run {
  readonly result: HandlerResult;
  readonly call: TestCall;
}

/** Runs a recipe whose steps are answered in turn. */
async function run(
  recipe: Recipe,
  answers: readonly Partial<DispatchResult>[],
  input: Readonly<Record<string, unknown>> = {},
): Promise<Run> {
  const remaining = [...answers];
  const call = makeCall({ input, answer: () => remaining.shift() ?? {} });
  return { result: await createComposition(recipe)(call), call };
}

// AGTP-API §12.1
describe("the steps of createComposition", () => {
  it("run in order, with parameters from input, earlier outputs and constants", async () => {
    const recipe = makeRecipe([
      {
        method: "QUERY",
        path: "/facts/{subject}",
        captureAs: "facts",
        parameters: { subject: proposal("subject"), depth: proposal("depth") },
      },
      {
        method: "SUMMARIZE",
        parameters: {
          source: previous("facts"),
          second: previous("facts.items.1.name"),
          length: constant("brief"),
        },
      },
    ]);
    const facts = { items: [{ name: "a" }, { name: "b" }] };
    const answers = [{ body: facts }, { body: { status: 200, task_id: "t", result: { s: 1 } } }];
    const { result, call } = await run(recipe, answers, { subject: "x y/z" });
    expect(call.dispatched).toEqual<Dispatched[]>([
      { method: "QUERY", path: "/facts/x%20y%2Fz", input: {} },
      {
        method: "SUMMARIZE",
        path: "/",
        input: { source: facts, second: "b", length: "brief" },
      },
    ]);
    expect(result).toEqual({ body: { s: 1 } });
  });

  it.each([
    [7, "/a/7"],
    [true, "/a/true"],
    ["..x", "/a/..x"],
    ["%2F", "/a/%252F"],
  ])("put %j into a path", async (value, path) => {
    const steps = [{ method: "QUERY", path: "/a/{v}", parameters: { v: constant(value) } }];
    const { call } = await run(makeRecipe(steps), []);
    expect(call.dispatched[0]?.path).toBe(path);
  });

  it("put any value into one segment, or fail", async () => {
    const recipe = makeRecipe([
      { method: "QUERY", path: "/a/{v}/b", parameters: { v: proposal("v") } },
    ]);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: "binary" }), fc.anything()), async (v) => {
        const { result, call } = await run(recipe, [], { v });
        if ("error" in result) expect(call.dispatched).toEqual([]);
        else expect(call.dispatched[0]?.path).toMatch(/^\/a\/[\w.!~*'()%-]+\/b$/);
      }),
    );
  });

  // RFC 7493 §2.2
  it.each([
    ["an id of the next order", 2 ** 60, "is an integer beyond 2^53"],
    ["a number that no double has", Number.NEGATIVE_INFINITY, "is a number beyond what a double"],
  ])("do not ask for what is not in the answer that they take it from: %s", async (_, id, why) => {
    const recipe = makeRecipe([
      { method: "FIND", path: "/orders", captureAs: "order" },
      { method: "CANCEL", path: "/orders/{id}", parameters: { id: previous("order.id") } },
    ]);
    const { result, call } = await run(recipe, [{ body: { id } }, {}]);
    expect(call.dispatched).toHaveLength(1);
    expect(result).toMatchObject({
      error: "composition_failed",
      message: expect.stringContaining(`path parameter "id" ${why}`),
    });
  });

  it("do not give a step null for a number that no double has", async () => {
    const recipe = makeRecipe([
      { method: "FIND", path: "/orders", captureAs: "order" },
      { method: "BOOK", path: "/rooms", parameters: { order: previous("order") } },
    ]);
    const far = { items: [{ price: Number.POSITIVE_INFINITY }] };
    const { result, call } = await run(recipe, [{ body: far }, {}]);
    expect(call.dispatched).toHaveLength(1);
    expect(result).toMatchObject({ error: "composition_failed" });
    const none = await run(recipe, [{ body: { price: Number.NaN } }, {}]);
    expect(none.call.dispatched).toHaveLength(1);
    expect(none.result).toMatchObject({ error: "composition_failed" });
  });

  it("cannot change the recipe's constants", async () => {
    const recipe = makeRecipe([{ method: "QUERY", parameters: { list: constant([1]) } }]);
    const { call } = await run(recipe, []);
    const list = call.dispatched[0]?.input?.["list"];
    if (Array.isArray(list)) list.push(2);
    expect(list).toEqual([1, 2]);
    const again = await run(recipe, []);
    expect(again.call.dispatched[0]?.input).toEqual({ list: [1] });
  });

  it("cannot change what the caller sent, or what an earlier step gave", async () => {
    const taking = { list: previous("facts.list"), sent: proposal("sent") };
    const recipe = makeRecipe(
      [
        { method: "QUERY", captureAs: "facts" },
        { method: "SORT", parameters: taking },
        { method: "RANK", parameters: taking },
      ],
      { aggregation: "list" },
    );
    const facts = { list: [2, 1] };
    const call = makeCall({
      input: { sent: { by: "caller" } },
      answer: ({ method, input }) => {
        if (method === "QUERY" || input === undefined) return { body: facts };
        (input["list"] as unknown[]).sort();
        Object.assign(input["sent"] as object, { by: method });
        return { body: input };
      },
    });
    const result = await createComposition(recipe)(call);
    const step = (by: string): object => ({ list: [1, 2], sent: { by } });
    expect(result).toEqual({ body: { results: [facts, step("SORT"), step("RANK")] } });
    expect(facts).toEqual({ list: [2, 1] });
    expect(call.input).toEqual({ sent: { by: "caller" } });
  });

  it("take a floor method's result, and everybody else's whole body", async () => {
    const wrapped = { status: 200, result: "inner" };
    const at = (path: string): Recipe => makeRecipe([{ method: "QUERY", path }]);
    expect((await run(at("/"), [{ body: wrapped }])).result).toEqual({ body: "inner" });
    expect((await run(at("/a"), [{ body: wrapped }])).result).toEqual({ body: wrapped });
    const bare = { status: "open", result: 1 };
    expect((await run(at("/"), [{ body: bare }])).result).toEqual({ body: bare });
  });
});

describe("the aggregation of createComposition", () => {
  const answers = [
    { body: { a: 1, shared: "first" } },
    { body: [2] },
    { status: 204 },
    { body: "four" },
    { body: { b: 5, shared: "last" } },
  ];
  const steps = [{ captureAs: "one" }, { captureAs: "two" }, {}, {}, { captureAs: "five" }];
  const recipe = (aggregation: AggregationMode): Recipe =>
    makeRecipe(
      steps.map((step) => ({ ...step, method: "QUERY", path: "/x" })),
      { aggregation },
    );

  it.each<[AggregationMode, unknown]>([
    ["last", { b: 5, shared: "last" }],
    ["merge", { a: 1, shared: "last", two: [2], step_4: "four", b: 5 }],
    ["list", { results: [answers[0]?.body, [2], {}, "four", answers[4]?.body] }],
  ])("%s", async (mode, body) => {
    expect((await run(recipe(mode), answers)).result).toEqual({ body });
  });

  it("merges a member __proto__ as a member", async () => {
    const poison = JSON.parse('{"__proto__":{"polluted":1}}') as unknown;
    const { result } = await run(recipe("merge"), [{ body: poison }]);
    expect(JSON.stringify(result)).toContain('"__proto__":{"polluted":1}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

// AGTP-API §12.1: "details with the recipe identifier, the failed step number, the underlying step
// method, the underlying status, and any captured outputs from preceding steps"
describe("the failure of createComposition", () => {
  const steps = [
    { method: "QUERY", path: "/a", captureAs: "facts" },
    { method: "BOOK", path: "/b/{id}", parameters: { id: previous("facts.id") } },
    { method: "NOTIFY", path: "/c" },
  ];

  it.each([401, 404, 422, 455, 500, 503, 261, 262])("stops at status %i", async (status) => {
    const error = { code: "room_unavailable", message: "full" };
    const answers = [{ body: { id: 7 } }, { status, body: { error } }];
    const { result, call } = await run(makeRecipe(steps, { name: "r" }), answers);
    expect(result).toMatchObject({
      error: "composition_failed",
      details: {
        recipe: "r",
        step: 2,
        method: "BOOK",
        path: "/b/7",
        status,
        error,
        outputs: { facts: { id: 7 } },
      },
    });
    expect(call.dispatched).toHaveLength(2);
  });

  it.each([200, 202, 204, 263])("does not stop at status %i", async (status) => {
    const answers = [{ body: { id: 7 } }, { status, body: {} }];
    const { call } = await run(makeRecipe(steps), answers);
    expect(call.dispatched).toHaveLength(3);
  });

  it.each([
    ["facts.missing", {}],
    ["facts.a.b", { a: null }],
    ["facts.a.length", { a: "text" }],
    ["facts.a.length", { a: [1] }],
    ["facts.a.1", { a: [1] }],
    ["facts.a.01", { a: [1, 2] }],
    ["facts.constructor", {}],
    ["facts.__proto__", {}],
    ["nothing", {}],
  ])("names the output %s that is not there", async (value, facts) => {
    const [first] = steps;
    const second = { method: "BOOK", parameters: { p: previous(value) } };
    const recipe = makeRecipe([first as { method: string }, second]);
    const { result, call } = await run(recipe, [{ body: facts }]);
    expect(call.dispatched).toHaveLength(1);
    expect(result).toMatchObject({
      error: "composition_failed",
      details: { step: 2, status: null, error: { code: "invalid-step" } },
    });
    expect(JSON.stringify(result)).toContain(value);
  });

  it.each([undefined, null, "", ".", "..", {}, ["a"], "\ud800"])(
    "dispatches nothing for the path value %j",
    async (id) => {
      const recipe = makeRecipe([
        { method: "QUERY", path: "/a/{id}", parameters: { id: proposal("id") } },
      ]);
      const { result, call } = await run(recipe, [], id === undefined ? {} : { id });
      expect(result).toMatchObject({
        error: "composition_failed",
        details: { step: 1, path: "/a/{id}", status: null, outputs: {} },
      });
      expect(call.dispatched).toEqual([]);
    },
  );

  it("is also a step that threw, which the log has", async () => {
    const call = makeCall({
      answer: () => {
        throw new Error("secret");
      },
    });
    const result = await createComposition(makeRecipe(steps))(call);
    expect(result).toMatchObject({ error: "composition_failed", details: { status: 500 } });
    expect(JSON.stringify(result)).not.toContain("secret");
    expect(call.logged).toHaveLength(1);
  });

  it("begins no step once the call is aborted", async () => {
    const caller = new AbortController();
    const call = makeCall({
      signal: caller.signal,
      answer: () => {
        caller.abort();
        return { body: { id: 1 } };
      },
    });
    const result = await createComposition(makeRecipe(steps))(call);
    expect(result).toMatchObject({ error: "composition_failed", details: { step: 2 } });
    expect(call.dispatched).toHaveLength(1);
  });
});

describe("picking members of outputs", () => {
  const outputs = [
    { name: "step_1", value: { id: 1, name: "first", secret: "s" } },
    { name: "step_2", value: { id: 2, items: [{ name: "x" }] } },
    { name: "step_3", value: "text" },
  ];
  const pick = (members: Readonly<Record<string, string>>): unknown =>
    aggregate({ mode: "pick", members }, outputs);

  it("takes each member from its step, and nothing else", () => {
    expect(pick({ id: "step_1", items: "step_2" })).toEqual({ id: 1, items: [{ name: "x" }] });
  });

  it.each([
    ["the output lacks", { gone: "step_1" }],
    ["the output inherits", { toString: "step_1" }],
    ["is asked of a text", { length: "step_3" }],
    ["is asked of a step that is not there", { id: "step_9" }],
  ])("leaves out a member that %s", (_title, members) => {
    expect(pick(members)).toEqual({});
  });

  it("takes a member __proto__ as a member", () => {
    const value = JSON.parse('{"__proto__":{"polluted":1}}') as unknown;
    const members = JSON.parse('{"__proto__":"step_1"}') as Record<string, string>;
    const body = aggregate({ mode: "pick", members }, [{ name: "step_1", value }]);
    expect(JSON.stringify(body)).toBe('{"__proto__":{"polluted":1}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});
