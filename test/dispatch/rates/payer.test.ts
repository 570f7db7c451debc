import { describe, expect, it } from "vitest";
import { ANONYMOUS, type Caller } from "../../../src/dispatch/caller/caller.ts";
import { payerOf } from "../../../src/dispatch/rates/rates.ts";

const AGENT = "1a".repeat(32);
const known = { agentId: AGENT } as Caller["document"];
const peer = { address: "203.0.113.7" };

function caller(more: Partial<Caller>): Caller {
  return { ...ANONYMOUS, agentId: AGENT, ...more };
}

// `[limits] work_ms_per_second`
describe("payerOf", () => {
  it.each([
    ["nobody", ANONYMOUS, "203.0.113.7", false],
    ["an Agent-ID that nobody knows", caller({}), "203.0.113.7", false],
    ["a known agent's claim", caller({ document: known }), `${AGENT} at 203.0.113.7`, true],
    ["a certificate", caller({ document: known, isCertified: true }), AGENT, true],
    ["a token", caller({ document: known, principalId: "p" }), `${AGENT} for p`, true],
    [
      "a peer's agent",
      caller({
        delegation: {
          links: [
            { agentId: AGENT, target: "b", serverId: "peer.example", scopes: [], token: undefined },
          ],
          deadline: 0,
          isArriving: true,
        },
      }),
      "of peer.example",
      true,
    ],
  ])("is for %s", (_, one, key, isKnown) => {
    expect(payerOf({ caller: one, peer })).toEqual({ key, isKnown });
  });

  it("keeps a claim from another address apart: nobody uses up what is another's", () => {
    const claim = caller({ document: known });
    const other = payerOf({ caller: claim, peer: { address: "198.51.100.9" } });
    expect(other.key).not.toBe(payerOf({ caller: claim, peer }).key);
  });

  it("does not take the sidecar's agent for whoever reaches the sidecar", () => {
    const face = { ...peer, speaksAs: AGENT };
    const one = caller({ document: known });
    expect(payerOf({ caller: one, peer: face })).toEqual({ key: "203.0.113.7", isKnown: false });
    const named = { ...one, principalId: "p" };
    expect(payerOf({ caller: named, peer: face })).toEqual({ key: "for p", isKnown: true });
  });

  it("takes the server's own request for its agent's", () => {
    const own = payerOf({ caller: caller({ document: known }), peer: { address: "" } });
    expect(own).toEqual({ key: AGENT, isKnown: true });
  });
});
