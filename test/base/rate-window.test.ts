import { describe, expect, it } from "vitest";
import { RateWindow } from "../../src/base/rate-window.ts";

// AGTP-API §10.1.5
describe("RateWindow", () => {
  it("gives each agent its own turns, and says when there is one again", () => {
    let now = 0;
    const window = new RateWindow(() => now);
    expect(window.take("a", 2)).toBeUndefined();
    now = 30_000;
    expect(window.take("a", 2)).toBeUndefined();
    expect(window.take("a", 2)).toBe(30);
    expect(window.take("b", 2)).toBeUndefined();
    now = 60_000;
    expect(window.take("a", 2)).toBeUndefined();
    expect(window.take("a", 2)).toBe(30);
  });

  it("slides: there are not twice as many turns around the end of a minute", () => {
    let now = 59_000;
    const window = new RateWindow(() => now);
    for (let turn = 0; turn < 5; turn += 1) expect(window.take("a", 5)).toBeUndefined();
    now = 61_000;
    expect(window.take("a", 5)).toBe(58);
  });

  it("gives nobody a turn where the limit is zero", () => {
    expect(new RateWindow(() => 0).take("a", 0)).toBeGreaterThan(0);
  });
});
