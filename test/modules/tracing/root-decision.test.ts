import { describe, expect, it } from "vitest";
import { RootDecision } from "../../../src/modules/tracing/root-decision.ts";

/** The ids of so many traces, and of those that were begun. */
function decide(ratio: number, times: number): { ids: string[]; begun: string[] } {
  const roots = new RootDecision(ratio);
  const begun: string[] = [];
  const ids = Array.from({ length: times }, () =>
    roots.decide(() => begun.push(roots.ids.generateTraceId())),
  );
  return { ids, begun };
}

describe("RootDecision", () => {
  it("begins all traces or none, each under the id that it was decided by", () => {
    const all = decide(1, 50);
    expect(all.begun).toEqual(all.ids);
    expect(decide(0, 50).begun).toEqual([]);
    expect(new Set(all.ids).size).toBe(50);
    expect(all.ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
  });

  it("begins about as many as the ratio says", () => {
    const { begun } = decide(0.1, 5_000);
    expect(begun.length).toBeGreaterThan(300);
    expect(begun.length).toBeLessThan(800);
  });
});
