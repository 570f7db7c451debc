/** The processor time of one thread, while another one burns it.   `[limits] work_ms_per_second` */

import { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import { processorClock } from "../../../src/dispatch/rates/loop-time.ts";

/** Burns so many milliseconds of the processor for each that it is asked for, then wakes who waits. */
const BURNER = `
  const { workerData } = require("node:worker_threads");
  const asked = new Int32Array(workerData);
  for (;;) {
    Atomics.wait(asked, 0, 0);
    const before = process.cpuUsage();
    let used = 0;
    while (used < asked[0] * 1000) {
      const { user, system } = process.cpuUsage(before);
      used = user + system;
    }
    Atomics.store(asked, 0, 0);
    Atomics.notify(asked, 0);
  }
`;

const microseconds = ({ user, system }: NodeJS.CpuUsage): number => user + system;

describe.runIf(process.platform === "linux")("processorClock", () => {
  it("does not count what another thread does", async () => {
    const asked = new Int32Array(new SharedArrayBuffer(4));
    const burner = new Worker(BURNER, { eval: true, workerData: asked.buffer });
    onTestFinished(async () => void (await burner.terminate()));
    const clock = processorClock();
    const startedAt = performance.now();
    const before = process.cpuUsage();
    Atomics.store(asked, 0, 100);
    Atomics.notify(asked, 0);
    Atomics.wait(asked, 0, 100);
    const used = clock.lap(startedAt);
    const all = microseconds(process.cpuUsage(before)) / 1000;
    expect(all).toBeGreaterThanOrEqual(100);
    expect(used).toBeLessThan(all / 10);
  });

  it("counts what this thread does", () => {
    const clock = processorClock();
    const startedAt = performance.now();
    const before = process.cpuUsage();
    let all = 0;
    while (all < 60) all = microseconds(process.cpuUsage(before)) / 1000;
    expect(clock.lap(startedAt)).toBeGreaterThan(all / 2);
  });

  it("counts nothing twice", () => {
    const clock = processorClock();
    const startedAt = performance.now();
    let since = startedAt;
    const laps = Array.from({ length: 200 }, () => {
      const used = clock.lap(since);
      since = performance.now();
      return used;
    });
    const sum = laps.reduce((one, other) => one + other, 0);
    expect(Math.min(...laps)).toBeGreaterThanOrEqual(0);
    expect(sum).toBeLessThanOrEqual(performance.now() - startedAt);
  });

  it("counts nothing of a wait", () => {
    const clock = processorClock();
    const startedAt = performance.now();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
    expect(clock.lap(startedAt)).toBeLessThan((performance.now() - startedAt) / 4);
  });

  it("counts from the moment that is asked for", () => {
    const clock = processorClock();
    const spin = (ms: number): void => {
      const until = performance.now() + ms;
      while (performance.now() < until);
    };
    spin(40);
    const startedAt = performance.now();
    spin(5);
    expect(clock.lap(startedAt)).toBeLessThanOrEqual(performance.now() - startedAt);
  });
});
