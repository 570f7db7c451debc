import { describe, expect, it } from "vitest";
import { aggregate } from "../../src/handlers/composition.ts";

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
