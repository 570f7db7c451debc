import { describe, expect, it } from "vitest";
import { Attempts } from "../../../src/dispatch/contracts/attempts.ts";

function attemptOf(agentId: string) {
  return {
    agent_id: agentId,
    method_attempted: "BOOK",
    path_attempted: "/suite",
    trust_tier: 2,
    locks: {},
    reason: "composition-impossible",
    explanation: "nothing does that",
  };
}

describe("Attempts", () => {
  it("finds an attempt by the id that its refusal carried", () => {
    const attempts = new Attempts();
    const id = attempts.add(attemptOf("a"));
    expect(attempts.find(id)).toMatchObject({
      attempt_id: id,
      agent_id: "a",
      method_attempted: "BOOK",
    });
    expect(attempts.find(id)?.at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(attempts.find("rcns-0")).toBeUndefined();
  });

  it("lets no agent drive out what another one may ask for", () => {
    const attempts = new Attempts();
    const kept = attempts.add(attemptOf("quiet"));
    const first = attempts.add(attemptOf("loud"));
    for (let count = 0; count < 5_000; count += 1) attempts.add(attemptOf("loud"));
    expect(attempts.find(kept)).toBeDefined();
    expect(attempts.find(first)).toBeUndefined();
  });

  it("forgets the oldest of many agents", () => {
    const attempts = new Attempts();
    const oldest = attempts.add(attemptOf("first"));
    const next = attempts.add(attemptOf("second"));
    const last = attempts.add(attemptOf("first"));
    for (let count = 0; count < 998; count += 1) attempts.add(attemptOf(`agent ${count}`));
    expect([oldest, next, last].map((id) => attempts.find(id)?.agent_id)).toEqual([
      undefined,
      "second",
      "first",
    ]);
    for (let count = 0; count < 200; count += 1) attempts.add(attemptOf("agent 1"));
    expect([next, last].map((id) => attempts.find(id))).toEqual([undefined, undefined]);
  });
});
