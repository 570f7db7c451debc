/** Chains that several writers move: what is kept of them, and for how many. */

import { describe, expect, it } from "vitest";
import { ChainTips } from "../../../src/state/records/chain-tips.ts";
import { makeDraft } from "../../support/ledger.ts";

const nameOf = (agent: number) => agent.toString(16).padStart(64, "0");

/** Races for the chains of these agents, in order. */
function race(tips: ChainTips, from: number, to: number): void {
  for (let agent = from; agent <= to; agent += 1) tips.race(nameOf(agent));
}

describe("chains that are raced for", () => {
  it("are remembered in a bounded number, the newest of them", () => {
    const asked: string[] = [];
    const tips = new ChainTips(true, (agentId) => asked.push(agentId));
    race(tips, 1, 1_002);
    for (const agent of [1, 2, 3, 1_002]) {
      const draft = makeDraft(nameOf(agent));
      expect(tips.hold(nameOf(agent), draft), `${agent}`).toBe(agent > 2);
    }
    expect(asked).toEqual([nameOf(3), nameOf(1_002)]);
  });

  it("count as new when they are raced for once more", () => {
    const tips = new ChainTips(true, () => undefined);
    race(tips, 1, 1_000);
    race(tips, 1, 1);
    race(tips, 1_001, 1_001);
    expect(tips.hold(nameOf(1), makeDraft(nameOf(1)))).toBe(true);
    expect(tips.hold(nameOf(2), makeDraft(nameOf(2)))).toBe(false);
  });

  it("keep the drafts that wait for a turn, however many others come", () => {
    const tips = new ChainTips(true, () => undefined);
    race(tips, 1, 1);
    const draft = makeDraft(nameOf(1));
    expect(tips.hold(nameOf(1), draft)).toBe(true);
    race(tips, 2, 5_000);
    expect(tips.takeTurn(nameOf(1), true)).toEqual([draft]);
  });

  it("stay within the bound while drafts of one wait for a turn", () => {
    const tips = new ChainTips(true, () => undefined);
    race(tips, 1, 1);
    tips.hold(nameOf(1), makeDraft(nameOf(1)));
    race(tips, 2, 5_000);
    let remembered = 0;
    for (let agent = 1; agent <= 5_000; agent += 1) {
      if (tips.hold(nameOf(agent), makeDraft(nameOf(agent)))) remembered += 1;
    }
    expect(remembered).toBe(1_000);
  });
});
