import { describe, expect, it } from "vitest";
import { SpanIds } from "../../../src/modules/tracing/spans.ts";

/** So many traces, and the decisions about them. */
function decide(ratio: number, times: number): { id: string; isChosen: boolean }[] {
  const ids = new SpanIds(ratio);
  return Array.from({ length: times }, () => ({ id: ids.newTrace(), isChosen: ids.isChosen }));
}

describe("SpanIds", () => {
  it("makes ids that are not alike", () => {
    const ids = new SpanIds(1);
    const traces = Array.from({ length: 5_000 }, () => ids.newTrace());
    const spans = Array.from({ length: 5_000 }, () => ids.newSpan());
    expect(traces.every((id) => /^(?!0{32})[0-9a-f]{32}$/.test(id))).toBe(true);
    expect(spans.every((id) => /^(?!0{16})[0-9a-f]{16}$/.test(id))).toBe(true);
    expect(new Set(traces).size).toBe(5_000);
    expect(new Set(spans).size).toBe(5_000);
  });

  it("chooses all traces or none", () => {
    expect(decide(1, 500).every(({ isChosen }) => isChosen)).toBe(true);
    expect(decide(0, 500).some(({ isChosen }) => isChosen)).toBe(false);
  });

  it("chooses about as many as the ratio says, and by the id, as others would", () => {
    const made = decide(0.1, 5_000);
    const chosen = made.filter(({ isChosen }) => isChosen);
    expect(chosen.length).toBeGreaterThan(300);
    expect(chosen.length).toBeLessThan(800);
    for (const { id, isChosen } of made) {
      const words = [0, 8, 16, 24].map((at) => Number.parseInt(id.slice(at, at + 8), 16));
      const folded = words.reduce((one, other) => one ^ other, 0) >>> 0;
      expect(folded < 0.1 * 2 ** 32).toBe(isChosen);
    }
  });
});
