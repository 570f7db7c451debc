import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EndpointDefinition } from "../../../../src/endpoint/endpoint.ts";
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

function planIn(world: World, proposal: ProposalWords) {
  const endpoints = Object.entries(world).map(([pair, words]) => makeStep(pair, words));
  return makeSynthesizer(endpoints).plan(makeProposal(proposal), holding());
}

describe("a passthrough", () => {
  it("is one step without a lineage, with all inputs that both sides know", () => {
    const world = { "QUERY /rooms/{id}": { takes: ["id", "from?", "to?"], gives: ["price"] } };
    const plan = planOf(planIn(world, { offers: ["id", "from", "colour"], asks: ["price"] }));
    expect(plan.kind).toBe("passthrough");
    expect(plan.lineage).toBeUndefined();
    expect(plan.recipe.steps).toEqual([
      {
        ...{ method: "QUERY", path: "/rooms/{id}", captureAs: "step_1" },
        parameters: {
          id: { kind: "proposal", value: "id" },
          from: { kind: "proposal", value: "from" },
        },
      },
    ]);
  });

  it.each<[string, World, ProposalWords, string]>([
    [
      "of the same method",
      {
        "QUERY /a": { takes: ["x"], gives: ["y"] },
        "ASSESS /b": { takes: ["x", "z?"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      "ASSESS /b",
    ],
    [
      "of the same capability, where the method is not the same",
      {
        "QUERY /a": {
          ...{ takes: ["x"], gives: ["y"] },
          semantic: { ...makeStep("QUERY /a").semantic, capability: "analysis" },
        },
        "QUERY /b": { takes: ["x", "z?"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      "QUERY /b",
    ],
    [
      "of the namespace that the path begins with",
      {
        "QUERY /a": { takes: ["x"], gives: ["y"] },
        "QUERY /b": { takes: ["x", "z?"], gives: ["y"], namespace: "proposed" },
      },
      { offers: ["x"], asks: ["y"] },
      "QUERY /b",
    ],
    [
      "with the fewest inputs that only one side has",
      {
        "QUERY /a": { takes: ["x", "v?", "w?"], gives: ["y"] },
        "QUERY /b": { takes: ["x", "z?"], gives: ["y"] },
        "QUERY /c": { gives: ["y"] },
      },
      { offers: ["x", "z"], asks: ["y"] },
      "QUERY /b",
    ],
    [
      "that comes first by method and path",
      {
        "QUERY /b": { takes: ["x"], gives: ["y"] },
        "QUERY /a": { takes: ["x"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      "QUERY /a",
    ],
    [
      "rather than a chain",
      {
        "QUERY /a": { takes: ["x"], gives: ["p"] },
        "QUERY /b": { takes: ["p"], gives: ["y"] },
        "QUERY /c": { takes: ["x"], gives: ["y"] },
      },
      { offers: ["x"], asks: ["y"] },
      "QUERY /c",
    ],
  ])("is an endpoint %s", (_title, world, proposal, pair) => {
    const plan = planOf(planIn(world, proposal));
    expect([plan.kind, stepsOf(plan)]).toEqual(["passthrough", [pair]]);
  });

  it.each<[string, EndpointWords, ProposalWords, string]>([
    [
      "lacks an output",
      { takes: ["x"], gives: ["y"] },
      { offers: ["x"], asks: ["y", "z"] },
      "0 endpoints could answer alone",
    ],
    [
      "needs what is not offered",
      { takes: ["x", "w"], gives: ["y"] },
      { offers: ["x"], asks: ["y"] },
      'it needs "w", which the input does not have',
    ],
    [
      "needs it in another format",
      { takes: ["x:uuid"], gives: ["y"] },
      { offers: ["x"], asks: ["y"] },
      'it needs "x", which the input does not have',
    ],
    [
      "leaves more behind than was proposed",
      { takes: ["x"], gives: ["y"], impact: "reversible" },
      { offers: ["x"], asks: ["y"] },
      "its impact is reversible, and no more than informational was proposed",
    ],
    [
      "asks for scopes that the agent does not hold",
      { takes: ["x"], gives: ["y"], requiredScopes: ["a:b", "c:d"] },
      { offers: ["x"], asks: ["y"] },
      "the agent does not hold a:b, c:d",
    ],
  ])("is no endpoint that %s", (_title, words, proposal, message) => {
    const { log } = failureOf(planIn({ "QUERY /a": words }, proposal));
    expect(log.map((entry) => entry.message)).toContain(message);
  });
});

describe("a proposal that names no output", () => {
  const world = { "BOOK /room": { takes: ["room", "guest", "note?"], gives: ["id"] } };
  it.each<[string, ProposalWords, boolean]>([
    ["with the method and the inputs", { method: "BOOK", offers: ["room", "guest"] }, true],
    ["with its optional inputs too", { method: "BOOK", offers: ["room", "guest", "note?"] }, true],
    ["but with another method", { method: "QUERY", offers: ["room", "guest"] }, false],
    ["but with one input more", { method: "BOOK", offers: ["room", "guest", "x"] }, false],
    ["but with an input less", { method: "BOOK", offers: ["room"] }, false],
    ["and no input either", { method: "BOOK" }, false],
  ])("%s of an endpoint: %o", (_title, proposal, isPlanned) => {
    expect(planIn(world, proposal).kind).toBe(isPlanned ? "passthrough" : "failure");
  });

  it("is no reason to call an endpoint that takes nothing", () => {
    expect(planIn({ "ASSESS /all": { gives: ["x"] } }, {}).kind).toBe("failure");
  });
});

describe("the answer of a passthrough", () => {
  const world = { "QUERY /a": { takes: ["x"], gives: ["y", "note:integer"] } };
  const answerOf = (outputSchema: Readonly<Record<string, unknown>>) =>
    planOf(planIn(world, { offers: ["x"], outputSchema })).recipe.aggregation;

  it("is the endpoint's own where the proposal leaves room for it", () => {
    expect(answerOf(objectOf(["y"]))).toBe("last");
    expect(answerOf(objectOf(["y"], { additionalProperties: true }))).toBe("last");
  });

  it.each([
    ["closes its output", objectOf(["y"], { additionalProperties: false })],
    ["closes it in a branch", { allOf: [objectOf(["y"], { unevaluatedProperties: false })] }],
    [
      "says what other members must be",
      objectOf(["y"], { additionalProperties: { type: "null" } }),
    ],
    ["has another idea of a member", objectOf(["y", "note?:string"])],
  ])("is only what was asked where the proposal %s", (_title, outputSchema) => {
    expect(answerOf(outputSchema)).toEqual({ mode: "pick", members: { y: "step_1" } });
  });
});

const GUEST = makeStep("QUERY /guests", { takes: ["name"], gives: ["guest_id:uuid"] });
const ROOM = makeStep("QUERY /rooms", {
  ...{ takes: ["city"], gives: ["room_id:integer"], requiredScopes: ["rooms:read"] },
});
const BOOK = makeStep("BOOK /rooms", {
  takes: ["guest_id:uuid", "room_id:integer", "note?"],
  gives: ["reservation_id"],
  impact: "irreversible",
});
const WORLD = makeSynthesizer([GUEST, ROOM, BOOK]);
const OFFER = makeProposal({ offers: ["name", "city"], impact: "irreversible" });
const READER = holding("rooms:read");

// AGTP "PLAN"
describe("planCall", () => {
  it("calls the endpoint alone where everything is offered", () => {
    const proposal = makeProposal({
      ...{ offers: ["guest_id:uuid", "room_id:integer"], impact: "irreversible" },
    });
    expect(stepsOf(WORLD.planCall(BOOK, proposal, holding()))).toEqual(["BOOK /rooms"]);
  });

  it("gets what is lacking first, and answers as the endpoint does", () => {
    const plan = planOf(WORLD.planCall(BOOK, OFFER, READER));
    expect(stepsOf(plan)).toEqual(["QUERY /guests", "QUERY /rooms", "BOOK /rooms"]);
    expect(plan).toMatchObject({
      ...{ kind: "planner", impact: "irreversible", requiredScopes: ["rooms:read"] },
      recipe: { aggregation: "last" },
      neededInputs: ["city", "name"],
    });
    expect(plan.recipe.steps[2]?.parameters).toEqual({
      guest_id: { kind: "previous_step", value: "step_1.guest_id" },
      room_id: { kind: "previous_step", value: "step_2.room_id" },
    });
  });

  it("keeps to the authority, the impact, the steps and the pairs that it is held to", () => {
    expect(failureOf(WORLD.planCall(BOOK, OFFER, holding()))).toMatchObject({
      reason: "scope-required",
      missing: { scopes: ["rooms:read"] },
    });
    const mild = makeProposal({ offers: ["name", "city"], impact: "reversible" });
    expect(failureOf(WORLD.planCall(BOOK, mild, READER)).explanation).toContain("irreversible");
    expect(failureOf(WORLD.planCall(BOOK, OFFER, READER, { maxSteps: 2 }))).toMatchObject({
      reason: "composition-impossible",
    });
    const allows = ({ path }: { readonly path: string }): boolean => path !== "/guests";
    expect(failureOf(WORLD.planCall(BOOK, OFFER, READER, { allows }))).toMatchObject({
      missing: { inputs: ["guest_id"] },
    });
  });

  it("says which inputs would be needed", () => {
    const nothing = makeProposal({ impact: "irreversible" });
    expect(failureOf(WORLD.planCall(BOOK, nothing, READER)).missing.inputs).toEqual([
      "city",
      "name",
    ]);
    const alone = makeSynthesizer([BOOK]);
    expect(failureOf(alone.planCall(BOOK, OFFER, READER)).missing.inputs).toEqual([
      "guest_id",
      "room_id",
    ]);
  });

  it("asks for what an endpoint gives only to whoever has it", () => {
    const echo = makeStep("QUERY /echoes", { takes: ["name"], gives: ["name", "guest_id:uuid"] });
    const world = makeSynthesizer([echo, BOOK]);
    const proposal = makeProposal({ offers: ["room_id:integer"], impact: "irreversible" });
    expect(failureOf(world.planCall(BOOK, proposal, holding())).missing.inputs).toEqual(["name"]);
  });

  it("does not know an endpoint that is not its own", () => {
    const other = makeStep("BOOK /elsewhere");
    expect(failureOf(WORLD.planCall(other, OFFER, READER)).explanation).toContain(
      "BOOK /elsewhere",
    );
  });

  it("ends in the endpoint, after all that it takes, in any world", () => {
    const names = fc.subarray(["a", "b", "c", "d", "e"], { maxLength: 3 });
    const world = fc.array(fc.record({ takes: names, gives: names }), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(world, names, (words, offers) => {
        const endpoints = words.map(
          (one, at): EndpointDefinition => makeStep(`QUERY /e${at}`, one),
        );
        const [target] = endpoints;
        if (target === undefined) return;
        const outcome = makeSynthesizer(endpoints).planCall(
          target,
          makeProposal({ offers }),
          holding(),
        );
        if (outcome.kind === "failure") return;
        const { steps } = outcome.recipe;
        expect(steps.at(-1)).toMatchObject({ method: target.method, path: target.path });
        for (const [at, step] of steps.entries()) {
          for (const source of Object.values(step.parameters)) {
            if (source.kind === "proposal") expect(offers).toContain(source.value);
            else
              expect(Number(/^step_(\d+)\./.exec(String(source.value))?.[1])).toBeLessThan(at + 1);
          }
        }
      }),
    );
  });
});
