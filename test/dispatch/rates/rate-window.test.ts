import { describe, expect, it } from "vitest";
import { MinuteRates } from "../../../src/dispatch/rates/minute-rates.ts";
import { RateWindow } from "../../../src/dispatch/rates/rate-window.ts";

function makeWindow(now: () => number, rates = new MinuteRates()): RateWindow {
  return new RateWindow({ name: "test", rates, now });
}

// AGTP-API §10.1.5
describe("RateWindow", () => {
  it("gives each agent its own turns, and says when there is one again", () => {
    let now = 0;
    const window = makeWindow(() => now);
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
    const window = makeWindow(() => now);
    for (let turn = 0; turn < 5; turn += 1) expect(window.take("a", 5)).toBeUndefined();
    now = 61_000;
    expect(window.take("a", 5)).toBe(58);
  });

  it("gives nobody a turn where the limit is zero", () => {
    expect(makeWindow(() => 0).take("a", 0)).toBeGreaterThan(0);
  });

  it("counts what other processes have given, and tells them what it gives", () => {
    let now = 0;
    const here = new MinuteRates();
    const there = new MinuteRates();
    here.share((taking) => there.add(taking));
    const [one, other] = [makeWindow(() => now, here), makeWindow(() => now, there)];
    expect(one.take("a", 3)).toBeUndefined();
    now = 10_000;
    expect([one.take("a", 3), other.take("a", 3)]).toEqual([undefined, undefined]);
    expect(other.take("a", 3)).toBe(50);
    expect(other.take("b", 3)).toBeUndefined();
    // Taken by one that had not heard of it: two of four have to leave the window.
    expect(one.take("a", 3)).toBeUndefined();
    now = 60_000;
    expect(other.take("a", 3)).toBe(10);
  });
});
