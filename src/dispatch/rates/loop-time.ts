/**
 * Measures the event loop time of each request, for its payer's account. Only the processor time of
 * the loop's own thread counts, not the wait for a processor on a busy machine nor the work of
 * other threads.   `[limits] work_ms_per_second`
 */
import { openSync, readSync } from "node:fs";
import { performance } from "node:perf_hooks";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { Rates } from "./rates.ts";

/** The length up to which slices are free. */
const FREE_SLICE_MS = 1;

/** Measures slices of the loop and charges their payers. */
export class LoopTime {
  readonly #rates: Pick<Rates, "charge">;
  readonly #clock: ProcessorClock;
  #isMeasuring = false;
  #readAt: number;
  #startedAt = 0;
  #endedAt = 0;
  #spent = 0;

  constructor(rates: Pick<Rates, "charge">, clock: ProcessorClock = processorClock()) {
    this.#rates = rates;
    this.#clock = clock;
    this.#readAt = performance.now();
  }

  /** True within a slice, whose measurement includes the present work. */
  get isMeasuring(): boolean {
    return this.#isMeasuring;
  }

  /** The end of the last slice, by `performance.now()`. */
  get endedAt(): number {
    return this.#endedAt;
  }

  /** True if the last slice was long enough to delay others. */
  get isNoticed(): boolean {
    return this.#spent > 0;
  }

  /**
   * Begins a slice at `startedAt`, or now; false if a slice is already running. If it returns true,
   * the caller must call `end` in any case. These are two calls because a closure costs a fiftieth
   * of a request.
   */
  begin(startedAt: number = performance.now()): boolean {
    if (this.#isMeasuring) return false;
    this.#isMeasuring = true;
    this.#startedAt = startedAt;
    if (startedAt - this.#readAt >= this.#clock.freshMs) {
      this.#clock.restart();
      this.#readAt = startedAt;
    }
    return true;
  }

  /**
   * Ends the slice at `toldAt`, or now: reading the clock costs a hundredth of a request. Resolves
   * the payer only if the slice is charged.
   */
  end<Of>(of: Of, payerOf: (of: Of) => TaskOwner, toldAt: number = performance.now()): void {
    this.#isMeasuring = false;
    const spent = this.#spentSince(this.#startedAt, toldAt);
    this.#spent = spent;
    if (spent > 0) this.#rates.charge(payerOf(of).key, spent, performance.now());
  }

  /** Runs work as a slice since `startedAt`, or now, or as part of the running slice. */
  slice<T>(payer: () => TaskOwner, work: () => T, startedAt?: number): T {
    const began = this.begin(startedAt);
    try {
      return work();
    } finally {
      if (began) this.end(undefined, payer);
    }
  }

  /** Returns the milliseconds to charge; 0 for a short slice. */
  #spentSince(startedAt: number, now: number): number {
    this.#endedAt = now;
    if (now - startedAt <= FREE_SLICE_MS) return 0;
    const spent = Math.min(now - startedAt, this.#clock.lap(startedAt));
    this.#readAt = now;
    return spent > FREE_SLICE_MS ? spent : 0;
  }
}

/**
 * Measures the processor time of the calling thread, without the work of other threads or the wait
 * for a processor. It measures in laps.
 */
export interface ProcessorClock {
  /** The age up to which a reading may start a lap, since each reading takes a system call. */
  readonly freshMs: number;
  /** Starts a lap now. */
  restart(): void;
  /**
   * Returns the processor time, in milliseconds, since a time of `performance.now()` or since the
   * last reading.
   */
  lap(since: number): number;
}

/** Returns the best clock of the platform. */
export function processorClock(): ProcessorClock {
  const file = openStatistics();
  if (file !== undefined) return new WaitClock(file);
  return "threadCpuUsage" in process
    ? new UsageClock(process.threadCpuUsage as typeof process.cpuUsage)
    : new UsageClock(process.cpuUsage);
}

const NANOSECONDS_A_MS = 1_000_000;
const ROW_BYTES = 96;

/** The descriptor that all clocks of a thread share. */
let statistics: number | undefined;

/** Opens the thread's running and waiting times on Linux; undefined elsewhere. */
function openStatistics(): number | undefined {
  try {
    statistics ??= openSync("/proc/thread-self/schedstat", "r");
    return readTimes(statistics)[0] > 0 ? statistics : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the thread's running and waiting times, in milliseconds. Throws if the file cannot be read. */
function readTimes(file: number): readonly [ran: number, waited: number] {
  const row = Buffer.alloc(ROW_BYTES);
  return timesOf(row, readSync(file, row, 0, ROW_BYTES, 0));
}

function timesOf(row: Buffer, length: number): readonly [ran: number, waited: number] {
  const [ran, waited] = row.toString("latin1", 0, length).split(" ", 2);
  return [Number(ran) / NANOSECONDS_A_MS, Number(waited) / NANOSECONDS_A_MS];
}

/**
 * Computes a thread's time from the kernel's counts of running and waiting. A busy thread either
 * runs or waits for a processor, so its use is the time since the last reading less the wait.
 */
class WaitClock implements ProcessorClock {
  readonly freshMs = 4;
  readonly #file: number;
  /** The last reading, unparsed, since fewer than one lap in a hundred is evaluated. */
  readonly #row = Buffer.alloc(ROW_BYTES);
  #length = 0;

  constructor(file: number) {
    this.#file = file;
    this.restart();
  }

  /**
   * Takes a reading. The running time may lag by a kernel tick, which overcounts a lap with sleep
   * but never exceeds the elapsed time; an exact usage costs more than the reading.
   */
  restart(): void {
    this.#length = readSync(this.#file, this.#row, 0, ROW_BYTES, 0);
  }

  lap(since: number): number {
    const [ran, waited] = timesOf(this.#row, this.#length);
    // Asking for the usage makes the kernel update the running time.
    process.cpuUsage();
    this.restart();
    const [ranNow, waitedNow] = timesOf(this.#row, this.#length);
    const busy = performance.now() - since - (waitedNow - waited);
    return Math.max(0, Math.min(busy, ranNow - ran));
  }
}

/** Reads the time of the thread, or of the process if the platform cannot measure threads. */
class UsageClock implements ProcessorClock {
  readonly freshMs = 1;
  readonly #usage: typeof process.cpuUsage;
  #at = performance.now();
  #used: number;

  constructor(usage: typeof process.cpuUsage) {
    this.#usage = usage;
    this.#used = this.#read();
  }

  restart(): void {
    this.#used = this.#read();
    this.#at = performance.now();
  }

  lap(since: number): number {
    const used = this.#used;
    // Time between the last reading and `since` may belong to others, so it is subtracted.
    const before = Math.max(0, since - this.#at);
    this.#used = this.#read();
    this.#at = performance.now();
    return Math.max(0, this.#used - used - before);
  }

  #read(): number {
    const { user, system } = this.#usage();
    return (user + system) / 1000;
  }
}
