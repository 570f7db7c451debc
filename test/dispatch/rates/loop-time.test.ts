/** Slices of the loop, and who pays for them.   `[limits] work_ms_per_second` */
import { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import { LoopTime, type ProcessorClock } from "../../../src/dispatch/rates/loop-time.ts";

const PAYER = { key: "payer", isKnown: true };

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

/** A clock of slices, and what they were charged with. */
function createTime(clock?: ProcessorClock) {
  const charged: (readonly [payer: string, ms: number])[] = [];
  const rates = { charge: (payer: string, ms: number) => void charged.push([payer, ms]) };
  return { time: new LoopTime(rates, clock), charged };
}

/** The cost of some work that nobody else pays for. */
function measure(work: () => void, clock?: ProcessorClock): number {
  const { time, charged } = createTime(clock);
  time.slice(() => PAYER, work);
  return charged[0]?.[1] ?? 0;
}

describe("LoopTime", () => {
  it("charges for what the processor did, and not for the time that passed", () => {
    expect(measure(() => spin(5), clockOf(2.5))).toBeCloseTo(2.5, 1);
  });

  it("charges for no more than the time that passed", () => {
    const startedAt = performance.now();
    const spent = measure(() => spin(5), clockOf(1_000));
    expect(spent).toBeGreaterThanOrEqual(5);
    expect(spent).toBeLessThanOrEqual(performance.now() - startedAt);
  });

  it("charges nothing for a slice that nobody notices, and does not ask who pays", () => {
    const { time, charged } = createTime(clockOf(0.9));
    const payer = () => {
      throw new Error("nobody pays");
    };
    time.slice(payer, () => spin(3));
    expect(charged).toEqual([]);
  });

  it("takes a slice within another for a part of it", () => {
    const { time, charged } = createTime(clockOf(3));
    const other = { key: "other", isKnown: true };
    time.slice(
      () => PAYER,
      () =>
        time.slice(
          () => other,
          () => spin(4),
        ),
    );
    expect(charged.map(([payer]) => payer)).toEqual([PAYER.key]);
    expect(charged[0]?.[1]).toBeCloseTo(3, 1);
  });

  it("begins anew behind work that threw", () => {
    const { time, charged } = createTime(clockOf(2, 2));
    const failing = () => {
      spin(3);
      throw new Error("as expected");
    };
    expect(() => time.slice(() => PAYER, failing)).toThrow("as expected");
    time.slice(
      () => PAYER,
      () => spin(3),
    );
    expect(charged).toHaveLength(2);
  });

  it.runIf(process.platform === "linux")("charges nobody for what another thread does", () => {
    const burner = new Worker("for (;;);", { eval: true });
    onTestFinished(async () => void (await burner.terminate()));
    const before = process.cpuUsage();
    const never = new Int32Array(new SharedArrayBuffer(4));
    const burned = (): number => {
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    };
    const spent = measure(() => {
      while (burned() < 100) Atomics.wait(never, 0, 0, 10);
    });
    // Its own looking costs something, on a busy machine more.
    expect(spent).toBeLessThan(burned() / 3);
  });
});
