import { describe, expect, it } from "vitest";
import type { TaskOwner } from "../../src/base/task-queue.ts";
import { LoopTime } from "../../src/dispatch/loop-time.ts";
import { Rates } from "../../src/dispatch/rates.ts";

const INA: TaskOwner = { key: "ina", isKnown: true };
const REX: TaskOwner = { key: "rex", isKnown: true };

/** A clock of the processor that is this thread's own, and who was charged. */
function makeTime() {
  const charged: Record<string, number> = {};
  const rates = new Rates();
  rates.charge = (key, ms) => {
    charged[key] = (charged[key] ?? 0) + ms;
  };
  const time = new LoopTime(rates, () => performance.now());
  const burn = (ms: number): void => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };
  const slice = (owner: TaskOwner, ms: number): void => {
    const startedAt = performance.now();
    time.begin(startedAt);
    burn(ms);
    const spent = time.end(startedAt);
    if (spent > 0) time.charge(owner, spent);
  };
  return { time, charged, burn, slice };
}

// `[limits] work_ms_per_second`
describe("a continuation", () => {
  it("is paid for by whom it belongs to", () => {
    const { time, charged, burn } = makeTime();
    time.enter(() => INA);
    burn(5);
    time.leave();
    expect(Object.keys(charged)).toEqual(["ina"]);
    expect(charged["ina"]).toBeGreaterThanOrEqual(5);
  });

  it("is paid for once where one is within another, and where a slice is within it", () => {
    const { time, charged, burn, slice } = makeTime();
    time.enter(() => INA);
    burn(5);
    time.enter(() => REX);
    burn(5);
    time.leave();
    slice(REX, 20);
    burn(5);
    time.leave();
    const { ina = 0, rex = 0 } = charged;
    expect(ina).toBeGreaterThanOrEqual(15);
    expect(rex).toBeGreaterThanOrEqual(20);
    slice(INA, 0);
    expect(charged).toEqual({ ina, rex });
  });

  it("is part of the slice in which it begins", () => {
    const { time, charged, burn } = makeTime();
    const startedAt = performance.now();
    time.begin(startedAt);
    time.enter(() => REX);
    burn(5);
    time.leave();
    expect(time.end(startedAt)).toBeGreaterThanOrEqual(5);
    expect(charged).toEqual({});
  });

  it("is nobody's when nobody waits for it any more, or it was short", () => {
    const { time, charged, burn } = makeTime();
    time.enter(() => undefined);
    burn(5);
    time.leave();
    time.enter(() => INA);
    time.leave();
    time.leave();
    expect(charged).toEqual({});
  });
});
