import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EndpointDefinition } from "../../../../src/endpoint/endpoint.ts";
import {
  failureOf,
  holding,
  makeProposal,
  makeStep,
  makeSynthesizer,
  planOf,
  stepsOf,
} from "../../../support/synthesis.ts";

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
