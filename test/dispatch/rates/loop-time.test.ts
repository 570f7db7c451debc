/** Slices of the loop, and who pays for them.   `[limits] work_ms_per_second` */
import { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ProcessorClock } from "../../../src/base/processor-clock.ts";
import { LoopTime } from "../../../src/dispatch/rates/loop-time.ts";
import { Rates } from "../../../src/dispatch/rates/rates.ts";

/** A clock that tells these laps, one after the other. */
function clockOf(...laps: readonly number[]): ProcessorClock {
  const left = [...laps];
  return { freshMs: 0, restart: () => undefined, lap: () => left.shift() ?? 0 };
}

/** A slice that takes so long by the clock on the wall. */
function spin(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function measure(time: LoopTime, work: () => void): number {
  const startedAt = performance.now();
  time.begin(startedAt);
  work();
  return time.end(startedAt);
}

describe("LoopTime", () => {
  it("charges for what the processor did, and not for the time that passed", () => {
    const time = new LoopTime(new Rates(), clockOf(2.5));
    expect(measure(time, () => spin(5))).toBeCloseTo(2.5, 1);
  });

  it("charges for no more than the time that passed", () => {
    const time = new LoopTime(new Rates(), clockOf(1_000));
    const startedAt = performance.now();
    const spent = measure(time, () => spin(5));
    expect(spent).toBeGreaterThanOrEqual(5);
    expect(spent).toBeLessThanOrEqual(performance.now() - startedAt);
  });

  it("charges nothing for a slice that nobody notices", () => {
    const time = new LoopTime(new Rates(), clockOf(0.9));
    expect(measure(time, () => spin(3))).toBe(0);
  });

  it("takes a slice within another for a part of it", () => {
    const time = new LoopTime(new Rates(), clockOf(3));
    let inner = -1;
    const outer = measure(time, () => {
      inner = measure(time, () => spin(4));
      expect(time.isMeasuring).toBe(true);
    });
    expect(inner).toBe(0);
    expect(outer).toBeCloseTo(3, 1);
    expect(time.isMeasuring).toBe(false);
  });

  it.runIf(process.platform === "linux")("charges nobody for what another thread does", () => {
    const burner = new Worker("for (;;);", { eval: true });
    onTestFinished(async () => void (await burner.terminate()));
    const time = new LoopTime(new Rates());
    const before = process.cpuUsage();
    const never = new Int32Array(new SharedArrayBuffer(4));
    const burned = (): number => {
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    };
    const spent = measure(time, () => {
      while (burned() < 100) Atomics.wait(never, 0, 0, 10);
    });
    expect(spent).toBeLessThan(burned() / 10);
  });
});
