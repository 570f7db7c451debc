import { describe, expect, it } from "vitest";
import { NegotiationTurns } from "../../../src/modules/negotiation/state.ts";

// AGTP-API §10.3
describe("NegotiationTurns", () => {
  it("is over after three rejections", () => {
    const turns = new NegotiationTurns();
    const begun = turns.next("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    const { negotiationId } = begun;
    turns.reject("a", negotiationId);
    expect(turns.next("a", negotiationId)).toEqual({ kind: "open", negotiationId });
    turns.reject("a", negotiationId);
    expect(turns.next("a", negotiationId)).toEqual({ kind: "open", negotiationId });
    turns.reject("a", negotiationId);
    expect(turns.next("a", negotiationId)).toEqual({ kind: "exhausted", negotiationId });
  });

  it("knows nothing of another agent's, or of none", () => {
    const turns = new NegotiationTurns();
    const begun = turns.next("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    expect(turns.next("b", begun.negotiationId)).toEqual({ kind: "unknown" });
    expect(turns.next("a", "made up")).toEqual({ kind: "unknown" });
  });

  it("lets no agent drive out another's", () => {
    const turns = new NegotiationTurns();
    const begun = turns.next("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    for (let count = 0; count < 1_000; count += 1) turns.next("b", undefined);
    expect(turns.next("a", begun.negotiationId).kind).toBe("open");
  });
});
