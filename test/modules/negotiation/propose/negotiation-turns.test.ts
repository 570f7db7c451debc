import { describe, expect, it } from "vitest";
import { Negotiations } from "../../../../src/modules/negotiation/propose/negotiation-turns.ts";

// AGTP-API §10.3
describe("Negotiations", () => {
  it("has three turns", () => {
    const negotiations = new Negotiations();
    const begun = negotiations.turn("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    const { negotiationId } = begun;
    expect(begun.turn).toBe(1);
    negotiations.reject("a", negotiationId);
    expect(negotiations.turn("a", negotiationId)).toMatchObject({ kind: "open", turn: 2 });
    negotiations.reject("a", negotiationId);
    expect(negotiations.turn("a", negotiationId)).toMatchObject({ kind: "open", turn: 3 });
    negotiations.reject("a", negotiationId);
    expect(negotiations.turn("a", negotiationId)).toEqual({ kind: "exhausted", negotiationId });
  });

  it("knows nothing of another agent's, or of none", () => {
    const negotiations = new Negotiations();
    const begun = negotiations.turn("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    expect(negotiations.turn("b", begun.negotiationId)).toEqual({ kind: "unknown" });
    expect(negotiations.turn("a", "made up")).toEqual({ kind: "unknown" });
  });

  it("lets no agent drive out another's", () => {
    const negotiations = new Negotiations();
    const begun = negotiations.turn("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    for (let count = 0; count < 1_000; count += 1) negotiations.turn("b", undefined);
    expect(negotiations.turn("a", begun.negotiationId).kind).toBe("open");
  });
});
