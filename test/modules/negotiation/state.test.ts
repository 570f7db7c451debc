import { describe, expect, it } from "vitest";
import { NegotiationTurns } from "../../../src/modules/negotiation/state.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";

const open = () => NegotiationTurns.open(createMemoryStore(), Date.now);

// AGTP-API §10.3
describe("NegotiationTurns", () => {
  it("is over after three rejections", async () => {
    const turns = await open();
    const begun = await turns.next("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    const { negotiationId } = begun;
    await turns.reject(negotiationId);
    expect(await turns.next("a", negotiationId)).toEqual({ kind: "open", negotiationId });
    await turns.reject(negotiationId);
    expect(await turns.next("a", negotiationId)).toEqual({ kind: "open", negotiationId });
    await turns.reject(negotiationId);
    expect(await turns.next("a", negotiationId)).toEqual({ kind: "exhausted", negotiationId });
  });

  it("counts a proposal that is evaluated again once", async () => {
    const turns = await open();
    const begun = await turns.next("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    const { negotiationId } = begun;
    for (let count = 0; count < 3; count += 1) await turns.reject(negotiationId, "prop-1");
    expect(await turns.next("a", negotiationId)).toEqual({ kind: "open", negotiationId });
    await turns.reject(negotiationId, "prop-2");
    await turns.reject(negotiationId, "prop-3");
    expect(await turns.next("a", negotiationId)).toEqual({ kind: "exhausted", negotiationId });
    expect(await turns.reject(negotiationId, "prop-1")).toBe(false);
    expect(await turns.reject(negotiationId, "prop-4")).toBe(true);
  });

  it("knows nothing of another agent's, or of none", async () => {
    const turns = await open();
    const begun = await turns.next("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    expect(await turns.next("b", begun.negotiationId)).toEqual({ kind: "unknown" });
    expect(await turns.next("a", "made up")).toEqual({ kind: "unknown" });
  });

  it("lets no agent drive out another's", async () => {
    const turns = await open();
    const begun = await turns.next("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    for (let count = 0; count < 1_000; count += 1) await turns.next("b", undefined);
    expect((await turns.next("a", begun.negotiationId)).kind).toBe("open");
  });

  it("forgets a negotiation after an hour, and keeps it over a restart until then", async () => {
    const store = createMemoryStore();
    const clock = { at: 1_000 };
    const now = () => clock.at;
    const begun = await (await NegotiationTurns.open(store, now)).next("a", undefined);
    if (begun.kind !== "open") throw new Error("a negotiation does not begin");
    const turns = await NegotiationTurns.open(store, now);
    clock.at += 3_599_999;
    expect((await turns.next("a", begun.negotiationId)).kind).toBe("open");
    clock.at += 2;
    expect((await turns.next("a", begun.negotiationId)).kind).toBe("unknown");
  });
});
