import { describe, expect, it } from "vitest";
import {
  type EndpointWords,
  failureOf,
  holding,
  makeProposal,
  makeStep,
  makeSynthesizer,
  objectOf,
  type ProposalWords,
  planOf,
  stepsOf,
} from "../../../support/synthesis.ts";

type World = Readonly<Record<string, EndpointWords>>;

function planIn(world: World, proposal: ProposalWords, maxDepth = 10, scopes: string[] = []) {
  const endpoints = Object.entries(world).map(([pair, words]) => makeStep(pair, words));
  const synthesizer = makeSynthesizer(endpoints, { maxDepth });
  return synthesizer.plan(makeProposal(proposal), holding(...scopes));
}

const FACTS: World = {
  "QUERY /customers/{customer_id}": { takes: ["customer_id"], gives: ["account_id", "name"] },
  "QUERY /accounts/{account_id}/balance": { takes: ["account_id"], gives: ["balance:number"] },
  "QUERY /rates": { takes: ["balance:number"], gives: ["rate:number"] },
};

// AGTP-API §10.7
describe("the chain of a plan", () => {
  it("passes proposed inputs and earlier outputs on by their names", () => {
    const plan = planOf(planIn(FACTS, { offers: ["customer_id"], asks: ["balance:number"] }));
    expect(plan.kind).toBe("planner");
    expect(plan.lineage).toBeUndefined();
    expect(plan.recipe.steps).toEqual([
      {
        method: "QUERY",
        path: "/customers/{customer_id}",
        captureAs: "step_1",
        parameters: { customer_id: { kind: "proposal", value: "customer_id" } },
      },
      {
        method: "QUERY",
        path: "/accounts/{account_id}/balance",
        captureAs: "step_2",
        parameters: { account_id: { kind: "previous_step", value: "step_1.account_id" } },
      },
    ]);
    expect(plan.recipe.aggregation).toEqual({ mode: "pick", members: { balance: "step_2" } });
    expect(plan.neededInputs).toEqual(["customer_id"]);
  });

  it("covers outputs of several steps, and takes no step that is not needed", () => {
    const asks = ["name", "rate:number"];
    const plan = planOf(planIn(FACTS, { offers: ["customer_id"], asks }));
    expect(plan.recipe.steps).toHaveLength(3);
    expect(plan.recipe.aggregation).toEqual({
      mode: "pick",
      members: { name: "step_1", rate: "step_3" },
    });
  });

  it("is a plain JSON value", () => {
    const plan = planOf(planIn(FACTS, { offers: ["customer_id"], asks: ["balance:number"] }));
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
  });

  it.each<[string, World, ProposalWords, readonly string[]]>([
    [
      "is the shortest, not the first to be found",
      {
        "QUERY /a": { takes: ["x"], gives: ["p"] },
        "QUERY /b": { takes: ["p"], gives: ["q"] },
        "QUERY /c": { takes: ["q"], gives: ["y"] },
        "QUERY /z1": { takes: ["x"], gives: ["r"] },
        "QUERY /z2": { takes: ["r"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      ["QUERY /z1", "QUERY /z2"],
    ],
    [
      "shares a step between two outputs, where a greedy walk takes one for each",
      {
        "QUERY /a1": { takes: ["x"], gives: ["p"] },
        "QUERY /a2": { takes: ["x"], gives: ["q"] },
        "QUERY /both": { takes: ["x", "s"], gives: ["p", "q"] },
        "QUERY /s": { takes: ["x"], gives: ["s", "y"] },
        "QUERY /yq": { takes: ["q"], gives: ["u"] },
        "QUERY /yp": { takes: ["p"], gives: ["v"] },
      },
      { offers: ["x"], asks: ["p", "q", "y"] },
      ["QUERY /s", "QUERY /both"],
    ],
    [
      "prefers the weaker impact among chains of the same length",
      {
        "BOOK /a": { takes: ["x"], gives: ["p"], impact: "reversible" },
        "QUERY /a": { takes: ["x"], gives: ["p"] },
        "QUERY /b": { takes: ["p"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"], impact: "irreversible" },
      ["QUERY /a", "QUERY /b"],
    ],
    [
      "prefers fewer inputs that one side has and the other has no use for",
      {
        "QUERY /a": { takes: ["x", "n?", "m?"], gives: ["p"] },
        "QUERY /c": { takes: ["x", "z"], gives: ["p"] },
        "QUERY /e": { takes: ["x"], gives: ["p"] },
        "QUERY /y": { takes: ["p"], gives: ["y"] },
      },
      { offers: ["x", "z"], asks: ["y"] },
      ["QUERY /c", "QUERY /y"],
    ],
    [
      "prefers what comes first by method and path when all else is equal",
      {
        "QUERY /b": { takes: ["x"], gives: ["p"] },
        "QUERY /a": { takes: ["x"], gives: ["p"] },
        "FETCH /c": { takes: ["x"], gives: ["p"] },
        "QUERY /y": { takes: ["p"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      ["FETCH /c", "QUERY /y"],
    ],
    [
      "does what leaves something behind as late as it can",
      {
        "BOOK /a": { takes: ["x"], gives: ["p"], impact: "irreversible" },
        "QUERY /b": { takes: ["x"], gives: ["q"] },
      },
      { offers: ["x"], asks: ["p", "q"], impact: "irreversible" },
      ["QUERY /b", "BOOK /a"],
    ],
    [
      "is found where steps that wait for each other need a third to begin",
      {
        "QUERY /a": { takes: ["p"], gives: ["q", "y"] },
        "QUERY /b": { takes: ["q"], gives: ["p", "z"] },
        "QUERY /c": { takes: ["x"], gives: ["q"] },
      },
      { offers: ["x"], asks: ["y", "z"] },
      ["QUERY /c", "QUERY /b", "QUERY /a"],
    ],
    [
      "uses an endpoint that takes nothing",
      {
        "QUERY /now": { gives: ["time"] },
        "QUERY /tide": { takes: ["time", "port"], gives: ["tide"] },
      },
      { offers: ["port"], asks: ["tide"] },
      ["QUERY /now", "QUERY /tide"],
    ],
  ])("%s", (_title, world, proposal, steps) => {
    expect(stepsOf(planIn(world, proposal))).toEqual(steps);
  });

  it.each<[string, World, ProposalWords, string]>([
    [
      "an output of another name",
      { "QUERY /a": { takes: ["x"], gives: ["p"] }, "QUERY /b": { takes: ["q"], gives: ["y"] } },
      { offers: ["x"], asks: ["y"] },
      'to give "y", endpoints need "q", which nothing gives',
    ],
    [
      "an output of another type",
      {
        "QUERY /a": { takes: ["x"], gives: ["p:integer"] },
        "QUERY /b": { takes: ["p"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      'to give "y", endpoints need "p", which nothing gives',
    ],
    [
      "a text where a format is asked for",
      {
        "QUERY /a": { takes: ["x:uuid"], gives: ["p"] },
        "QUERY /b": { takes: ["p"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      'to give "y", endpoints need "x", which nothing gives',
    ],
    [
      "an output that some answers lack, where an input is required",
      { "QUERY /a": { takes: ["x"], gives: ["p?"] }, "QUERY /b": { takes: ["p"], gives: ["y"] } },
      { offers: ["x"], asks: ["y"] },
      'to give "y", endpoints need "p", which nothing gives',
    ],
    [
      "an output that some answers lack, where every answer must have it",
      { "QUERY /a": { takes: ["x"], gives: ["y?"] } },
      { offers: ["x"], asks: ["y"] },
      'no endpoint that may be used gives "y"',
    ],
    [
      "an object where a path takes one segment",
      {
        "QUERY /a": { takes: ["x"], gives: ["p:object"] },
        "QUERY /b/{p}": { takes: ["p:any"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      'to give "y", endpoints need "p", which nothing gives',
    ],
    [
      "a member whose name a dotted path would take apart",
      {
        "QUERY /a": { takes: ["x"], gives: ["p.q"] },
        "QUERY /b": { takes: ["p.q"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      'to give "y", endpoints need "p.q", which nothing gives',
    ],
    [
      "steps that wait for each other",
      { "QUERY /a": { takes: ["p"], gives: ["y"] }, "QUERY /b": { takes: ["y"], gives: ["p"] } },
      { offers: ["x"], asks: ["y"] },
      'the endpoints that give "y" wait for each other',
    ],
    [
      "what the proposal itself sends, as an output",
      { "QUERY /a": { takes: ["x"], gives: ["p"] } },
      { offers: ["x"], asks: ["x"] },
      'no endpoint that may be used gives "x"',
    ],
    [
      "no output at all",
      { "QUERY /a": { takes: ["x"], gives: ["p"] } },
      { offers: ["x"] },
      "no output is asked for that a chain of endpoints could give",
    ],
  ])("does not count on %s", (_title, world, proposal, explanation) => {
    const failure = failureOf(planIn(world, proposal));
    expect(failure.reason).toBe("composition-impossible");
    expect(failure.explanation).toBe(explanation);
  });

  it("names what is missing, so that another proposal can offer it", () => {
    const { missing } = failureOf(planIn(FACTS, { offers: ["name"], asks: ["rate:number"] }));
    expect(missing).toEqual({ outputs: [], inputs: ["customer_id"], scopes: [] });
    const other = failureOf(planIn(FACTS, { offers: ["customer_id"], asks: ["weather"] }));
    expect(other.missing).toEqual({ outputs: ["weather"], inputs: [], scopes: [] });
  });

  it("takes any proposed input, and says which of them it cannot do without", () => {
    const offers = ["customer_id?", "name?"];
    const plan = planOf(planIn(FACTS, { offers, asks: ["balance:number"] }));
    expect(plan.neededInputs).toEqual(["customer_id"]);
  });

  it("does not use an endpoint whose input schema has conditions between its members", () => {
    const inputSchema = { ...objectOf(["x"]), anyOf: [{ required: ["a"] }, { required: ["b"] }] };
    const world = {
      "QUERY /a": { inputSchema, gives: ["p"] },
      "QUERY /b": { takes: ["p"], gives: ["y"] },
    };
    expect(stepsOf(planIn(world, { offers: ["x"], asks: ["y"] }))).toBe(
      'to give "y", endpoints need "p", which nothing gives',
    );
  });

  it("reads members through references and allOf", () => {
    const inputSchema = {
      type: "object",
      $ref: "#/$defs/base",
      $defs: { base: { properties: { x: { $ref: "#/$defs/id" } } }, id: { type: "string" } },
      required: ["x"],
    };
    const outputSchema = { allOf: [objectOf(["y"]), objectOf(["z"])] };
    const world = {
      "QUERY /a": { inputSchema, outputSchema },
      "QUERY /b": { takes: ["y"], gives: ["w"] },
    };
    const plan = planOf(planIn(world, { offers: ["x"], asks: ["w", "z"] }));
    expect(stepsOf(plan)).toEqual(["QUERY /a", "QUERY /b"]);
  });
});

describe("the inputs of a step", () => {
  const world: World = {
    "QUERY /a": { takes: ["x"], gives: ["id", "page", "kind?"] },
    "QUERY /b": { takes: ["x"], gives: ["page", "other"] },
    "QUERY /c": { takes: ["id", "limit?", "page?", "kind?", "other?"], gives: ["y"] },
  };
  const sourcesOf = (offers: readonly string[], asks: readonly string[]) => {
    const plan = planOf(planIn(world, { offers, asks }));
    return plan.recipe.steps.find(({ path }) => path === "/c")?.parameters;
  };

  it("are filled with everything that can be had, and only that", () => {
    expect(sourcesOf(["x", "limit"], ["y"])).toEqual({
      id: { kind: "previous_step", value: "step_1.id" },
      limit: { kind: "proposal", value: "limit" },
      page: { kind: "previous_step", value: "step_1.page" },
    });
  });

  it("are left out where two outputs could be meant", () => {
    expect(sourcesOf(["x"], ["y", "other"])).toEqual({
      id: { kind: "previous_step", value: "step_1.id" },
      other: { kind: "previous_step", value: "step_2.other" },
    });
  });

  it("are the caller's own where the caller has them in every call", () => {
    const id = { kind: "proposal", value: "id" };
    expect(sourcesOf(["x", "id"], ["y", "other"])).toMatchObject({ id });
  });

  it("are an earlier output where the caller may not send them", () => {
    expect(sourcesOf(["x", "id?"], ["y", "kind?", "other"])).toMatchObject({
      id: { kind: "proposal", value: "id" },
    });
    const both = planOf(planIn(world, { offers: ["x", "id?"], asks: ["y", "id", "other"] }));
    expect(both.recipe.steps.find(({ path }) => path === "/c")?.parameters).toMatchObject({
      id: { kind: "previous_step", value: "step_1.id" },
    });
  });
});

describe("what a plan may use", () => {
  const world: World = {
    "QUERY /a": { takes: ["x"], gives: ["p"], requiredScopes: ["a:read", "a:more"] },
    "QUERY /b": { takes: ["p"], gives: ["y"], requiredScopes: ["b:read", "a:read"] },
  };
  const proposal = { offers: ["x"], asks: ["y"] };

  it("is what the agent's scopes cover, all steps together", () => {
    const plan = planOf(planIn(world, proposal, 10, ["a:read", "a:more", "b:read", "c:read"]));
    expect(plan.requiredScopes).toEqual(["a:read", "a:more", "b:read"]);
  });

  it("is refused for scopes when only they are in the way, and tells which", () => {
    const failure = failureOf(planIn(world, proposal, 10, ["a:read"]));
    expect(failure).toMatchObject({
      reason: "scope-required",
      missing: { scopes: ["a:more", "b:read"] },
    });
  });

  it("is refused as impossible when more scopes would not help", () => {
    const failure = failureOf(planIn(world, { ...proposal, asks: ["y", "z"] }));
    expect(failure.reason).toBe("composition-impossible");
    expect(failure.missing.scopes).toEqual([]);
  });

  it("goes another way round where scopes are in the way", () => {
    const detour: World = {
      ...world,
      "QUERY /c": { takes: ["x"], gives: ["q"] },
      "QUERY /d": { takes: ["q"], gives: ["p"] },
      "QUERY /e": { takes: ["p"], gives: ["y"] },
    };
    expect(stepsOf(planIn(detour, proposal))).toEqual(["QUERY /c", "QUERY /d", "QUERY /e"]);
  });

  it.each([
    ["informational", "informational", true],
    ["informational", "reversible", false],
    ["informational", "irreversible", false],
    ["reversible", "reversible", true],
    ["reversible", "irreversible", false],
    ["irreversible", "irreversible", true],
  ] as const)("proposed as %s, is a step that is %s: %s", (declared, impact, isPlanned) => {
    const steps = {
      "QUERY /a": { takes: ["x"], gives: ["p"] },
      "BOOK /b": { takes: ["p"], gives: ["y"], impact, isIdempotent: false },
    };
    const outcome = planIn(steps, { ...proposal, impact: declared });
    if (isPlanned) expect(planOf(outcome)).toMatchObject({ impact, isIdempotent: false });
    else expect(failureOf(outcome).explanation).toContain(`whose impact is ${impact}`);
  });

  it("does not fill a template that could lead to a sibling with a stronger impact", () => {
    const siblings: World = {
      "QUERY /a": { takes: ["x"], gives: ["p"] },
      "QUERY /b/{p}": { takes: ["p"], gives: ["y"] },
      "QUERY /b/purge": { gives: ["z"], impact: "irreversible" },
    };
    expect(stepsOf(planIn(siblings, proposal))).toContain("whose impact is irreversible");
    const declared = { ...proposal, impact: "irreversible" } as const;
    expect(planOf(planIn(siblings, declared)).impact).toBe("irreversible");
  });

  it.each([
    [2, false],
    [3, true],
  ])("with at most %i steps, is three steps: %s", (maxDepth, isPlanned) => {
    const outcome = planIn(FACTS, { offers: ["customer_id"], asks: ["rate:number"] }, maxDepth);
    expect(outcome.kind).toBe(isPlanned ? "planner" : "failure");
    if (!isPlanned) {
      expect(stepsOf(outcome)).toBe("no chain that would do has fewer than 3 steps");
    }
  });

  it("is too much when several outputs together need more steps than allowed", () => {
    const wide: World = {
      "QUERY /a": { takes: ["x"], gives: ["a"] },
      "QUERY /b": { takes: ["x"], gives: ["b"] },
      "QUERY /c": { takes: ["x"], gives: ["c"] },
    };
    const outcome = planIn(wide, { offers: ["x"], asks: ["a", "b", "c"] }, 2);
    expect(stepsOf(outcome)).toBe("every chain that would do has more than 2 steps");
  });
});

describe("the answer of a chain", () => {
  const world: World = {
    "QUERY /a": { takes: ["x"], gives: ["p", "name", "note?", "size:integer"] },
    "QUERY /b": { takes: ["p"], gives: ["y", "name"] },
  };
  const answerOf = (outputSchema: Readonly<Record<string, unknown>>) =>
    planOf(planIn(world, { offers: ["x"], outputSchema })).recipe.aggregation;

  it("has what was asked, from the last step that gives it, and nothing else", () => {
    expect(answerOf(objectOf(["y", "name"]))).toEqual({
      mode: "pick",
      members: { y: "step_2", name: "step_2" },
    });
  });

  it("has what would be welcome besides, as far as it is there and fits", () => {
    expect(answerOf(objectOf(["y", "note?", "size?:string", "gone?"]))).toEqual({
      mode: "pick",
      members: { y: "step_2", note: "step_1" },
    });
  });

  it("covers every output where none is required, with what some answers lack too", () => {
    expect(answerOf(objectOf(["y?", "note?"]))).toEqual({
      mode: "pick",
      members: { y: "step_2", note: "step_1" },
    });
  });
});

describe("the log of a plan", () => {
  it("tells the steps, where their inputs come from, and why others were rejected", () => {
    const world: World = {
      ...FACTS,
      "QUERY /vault": {
        takes: ["customer_id"],
        gives: ["rate:number"],
        requiredScopes: ["v:read"],
      },
    };
    const { log } = planOf(planIn(world, { offers: ["customer_id"], asks: ["rate:number"] }));
    expect(log.filter(({ outcome }) => outcome === "chosen")).toEqual([
      {
        ...{ stage: "planner", outcome: "chosen", message: "step 1 of 3", step: 1 },
        ...{ method: "QUERY", path: "/customers/{customer_id}" },
        inputs: { customer_id: "proposal" },
      },
      {
        ...{ stage: "planner", outcome: "chosen", message: "step 2 of 3", step: 2 },
        ...{ method: "QUERY", path: "/accounts/{account_id}/balance" },
        inputs: { account_id: "step 1" },
      },
      {
        ...{ stage: "planner", outcome: "chosen", message: "step 3 of 3", step: 3 },
        ...{ method: "QUERY", path: "/rates", inputs: { balance: "step 2" } },
      },
    ]);
    expect(log).toContainEqual({
      ...{ stage: "planner", outcome: "rejected", method: "QUERY", path: "/vault" },
      message: "the agent does not hold v:read",
    });
  });

  it("has at most fifty entries, however many endpoints were in question", () => {
    const many = Array.from({ length: 500 }, (_, at): [string, EndpointWords] => [
      `QUERY /vault/${at}`,
      { takes: ["x"], gives: ["y"], requiredScopes: ["v:read"] },
    ]);
    const { log } = failureOf(planIn(Object.fromEntries(many), { offers: ["x"], asks: ["y"] }));
    expect(log.length).toBeLessThanOrEqual(50);
    expect(log.map(({ message }) => message)).toContain("490 more were rejected");
  });
});
