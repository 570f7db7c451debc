/**
 * The time of the event loop that each request takes, on whose account it goes. Measured is what the
 * processor did for the loop's own thread: neither its wait for a turn on a busy machine nor the work
 * of other threads is anybody's.
 * `[limits] work_ms_per_second`
 */
import { openSync, readSync } from "node:fs";
import { performance } from "node:perf_hooks";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { Rates } from "./rates.ts";

/** Shorter slices are not charged. */
const FREE_SLICE_MS = 1;

/** Measures slices, and has them paid for. */
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

  /** Within a slice: what is done now is measured already. */
  get isMeasuring(): boolean {
    return this.#isMeasuring;
  }

  /** The end of the last slice, as of `performance.now()`. */
  get endedAt(): number {
    return this.#endedAt;
  }

  /** True if others noticed the last slice. */
  get isNoticed(): boolean {
    return this.#spent > 0;
  }

  /**
   * Begins work that is done at once, as a slice since `startedAt`, or now; false: it is a part of another one.
   * `end` follows whatever happens, where this was true. They are two calls, as a closure for each request
   * takes a fiftieth of it.
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
   * Ends the slice, by `toldAt` or now: a look at the clock takes a hundredth of a request. The payer is asked
   * for only where others noticed.
   */
  end<Of>(of: Of, payerOf: (of: Of) => TaskOwner, toldAt: number = performance.now()): void {
    this.#isMeasuring = false;
    const spent = this.#spentSince(this.#startedAt, toldAt);
    this.#spent = spent;
    if (spent > 0) this.#rates.charge(payerOf(of).key, spent, performance.now());
  }

  /** Does work as a slice since `startedAt`, or now, or as a part of the one that it is within. */
  slice<T>(payer: () => TaskOwner, work: () => T, startedAt?: number): T {
    const began = this.begin(startedAt);
    try {
      return work();
    } finally {
      if (began) this.end(undefined, payer);
    }
  }

  /** 0 unless it was so long that others noticed. */
  #spentSince(startedAt: number, now: number): number {
    this.#endedAt = now;
    if (now - startedAt <= FREE_SLICE_MS) return 0;
    const spent = Math.min(now - startedAt, this.#clock.lap(startedAt));
    this.#readAt = now;
    return spent > FREE_SLICE_MS ? spent : 0;
  }
}

/**
 * Measures the processor time of the thread that asks: what other threads do meanwhile, and the wait
 * for a processor that others hold, is no part of it. It is read in laps.
 */
export interface ProcessorClock {
  /** A reading is that good for so long: each takes a system call. */
  readonly freshMs: number;
  /** Begins a lap now. */
  restart(): void;
  /** Milliseconds of the processor since a moment of `performance.now()`, or since the last reading. */
  lap(since: number): number;
}

/** The best clock that the platform has. */
export function processorClock(): ProcessorClock {
  const file = openStatistics();
  if (file !== undefined) return new WaitClock(file);
  return "threadCpuUsage" in process
    ? new UsageClock(process.threadCpuUsage as typeof process.cpuUsage)
    : new UsageClock(process.cpuUsage);
}

const NANOSECONDS_A_MS = 1_000_000;
const ROW_BYTES = 96;

/** One descriptor for all clocks of a thread. */
let statistics: number | undefined;

/** Linux tells what this thread has run, and what it has waited; undefined elsewhere. */
function openStatistics(): number | undefined {
  try {
    statistics ??= openSync("/proc/thread-self/schedstat", "r");
    return readTimes(statistics)[0] > 0 ? statistics : undefined;
  } catch {
    return undefined;
  }
}

/** The times that the thread has run and waited, in milliseconds. Throws where the file cannot be read. */
function readTimes(file: number): readonly [ran: number, waited: number] {
  const row = Buffer.alloc(ROW_BYTES);
  return timesOf(row, readSync(file, row, 0, ROW_BYTES, 0));
}

function timesOf(row: Buffer, length: number): readonly [ran: number, waited: number] {
  const [ran, waited] = row.toString("latin1", 0, length).split(" ", 2);
  return [Number(ran) / NANOSECONDS_A_MS, Number(waited) / NANOSECONDS_A_MS];
}

/**
 * Tells a thread's time from the kernel's two counts: how long it has run, and how long it has waited for a
 * processor. A busy thread does one or the other, so what has passed since the last reading, less what it has
 * waited, is what it has used.
 */
class WaitClock implements ProcessorClock {
  readonly freshMs = 4;
  readonly #file: number;
  /** The last reading as it was read: a lap ends in fewer than one of a hundred. */
  readonly #row = Buffer.alloc(ROW_BYTES);
  #length = 0;

  constructor(file: number) {
    this.#file = file;
    this.restart();
  }

  /**
   * The time of the thread may be that of the kernel's last tick, which counts too much of a lap in which
   * it sleeps, and never more than passed: asking for the usage costs more than the reading.
   */
  restart(): void {
    this.#length = readSync(this.#file, this.#row, 0, ROW_BYTES, 0);
  }

  lap(since: number): number {
    const [ran, waited] = timesOf(this.#row, this.#length);
    // The kernel brings the first of them up to date when it is asked for the usage.
    process.cpuUsage();
    this.restart();
    const [ranNow, waitedNow] = timesOf(this.#row, this.#length);
    const busy = performance.now() - since - (waitedNow - waited);
    return Math.max(0, Math.min(busy, ranNow - ran));
  }
}

/** Asks the platform for the time of the thread, or of the process where it knows no threads. */
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
    // Time between the last reading and that moment may have been anybody's.
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
