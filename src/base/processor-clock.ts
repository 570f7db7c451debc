/**
 * Measures the processor time of the thread that asks: what other threads do meanwhile, and the wait
 * for a processor that others hold, is no part of it.
 */
import { openSync, readSync } from "node:fs";

/** A clock that is read in laps. */
export interface ProcessorClock {
  /** A reading is that good for so long: each takes a system call. */
  readonly freshMs: number;
  /** Milliseconds of the processor since it was read last. */
  lap(): number;
}

/** The best clock that the platform has. */
export function processorClock(): ProcessorClock {
  const file = openStatistics();
  if (file !== undefined) return new WaitClock(file);
  return "threadCpuUsage" in process
    ? new UsageClock(process.threadCpuUsage as typeof process.cpuUsage)
    : new UsageClock(process.cpuUsage);
}

/** The slowest kernel counts the time that a thread has run a hundred times a second. */
const TICK_MS = 10;
const NANOSECONDS = 1_000_000;
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

const row = Buffer.alloc(ROW_BYTES);

/** The times that the thread has run and waited, in milliseconds. Throws where the file cannot be read. */
function readTimes(file: number): readonly [ran: number, waited: number] {
  const length = readSync(file, row, 0, ROW_BYTES, 0);
  const [ran, waited] = row.toString("latin1", 0, length).split(" ", 2);
  return [Number(ran) / NANOSECONDS, Number(waited) / NANOSECONDS];
}

/**
 * A thread that is busy uses the processor whenever it does not wait for one. The time that it has
 * waited is exact; the time that it has run lags by a tick, and says when it slept.
 */
class WaitClock implements ProcessorClock {
  readonly freshMs = 4;
  readonly #file: number;
  #at = performance.now();
  #times: readonly [ran: number, waited: number];

  constructor(file: number) {
    this.#file = file;
    this.#times = readTimes(file);
  }

  lap(): number {
    const at = performance.now();
    const times = readTimes(this.#file);
    const waited = times[1] - this.#times[1];
    const ran = times[0] - this.#times[0] + TICK_MS;
    const used = Math.min(at - this.#at - waited, ran);
    this.#at = at;
    this.#times = times;
    return Math.max(0, used);
  }
}

/** What the platform says that the thread has used, or the process where it knows no threads. */
class UsageClock implements ProcessorClock {
  readonly freshMs = 1;
  readonly #usage: typeof process.cpuUsage;
  #used: number;

  constructor(usage: typeof process.cpuUsage) {
    this.#usage = usage;
    this.#used = this.#read();
  }

  lap(): number {
    const before = this.#used;
    this.#used = this.#read();
    return this.#used - before;
  }

  #read(): number {
    const { user, system } = this.#usage();
    return (user + system) / 1000;
  }
}
