/** Slices of the loop, and who pays for them.   `[limits] work_ms_per_second` */
import { once } from "node:events";
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

  it.runIf(process.platform === "linux")(
    "charges nobody for what another thread does",
    async () => {
      const stage = new Int32Array(new SharedArrayBuffer(4));
      const burner = new Worker(BURNER, { eval: true, workerData: stage });
      onTestFinished(async () => void (await burner.terminate()));
      await once(burner, "online");
      const before = process.cpuUsage();
      // This thread waits, and does nothing of its own.
      const spent = measure(() => {
        Atomics.store(stage, 0, 1);
        Atomics.notify(stage, 0);
        Atomics.wait(stage, 0, 1);
      });
      const { user, system } = process.cpuUsage(before);
      const burnedMs = (user + system) / 1000;
      expect(burnedMs).toBeGreaterThanOrEqual(100);
      expect(spent).toBeLessThan(burnedMs / 10);
    },
  );
});

/** Burns 100 ms of the process' time from stage 1 on; then it is stage 2. */
const BURNER = `
  const { workerData: stage } = require("node:worker_threads");
  Atomics.wait(stage, 0, 0);
  const before = process.cpuUsage();
  for (let used = 0; used < 100_000; ) {
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
  Atomics.store(stage, 0, 2);
  Atomics.notify(stage, 0);
`;
