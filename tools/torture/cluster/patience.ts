/**
 * Timeouts for processes that exclude time in which the machine gave them no CPU. Linux reports it;
 * elsewhere all time counts.
 */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";

const LOOK_MS = 250;
/** A wait takes at most this many times its limit. */
const MOST = 10;

/** The durations of a wait in milliseconds. */
export interface Passed {
  readonly all: number;
  /** The time in which the process was ready to run, but got no CPU. */
  readonly unserved: number;
}

/** Waits for a process, for a limited amount of its own time. */
export class Patience {
  readonly #milliseconds: number;
  readonly #process: () => number | undefined;
  readonly #begunAt = performance.now();
  #lookedAt: { readonly pid: number | undefined; readonly waitedMs: number };
  #unserved = 0;

  constructor(milliseconds: number, process: () => number | undefined) {
    this.#milliseconds = milliseconds;
    this.#process = process;
    const pid = process();
    this.#lookedAt = { pid, waitedMs: waitedForProcessor(pid) };
  }

  /** The time since the wait began. */
  get passed(): Passed {
    const pid = this.#process();
    const waitedMs = waitedForProcessor(pid);
    const before = pid === this.#lookedAt.pid ? this.#lookedAt.waitedMs : 0;
    this.#unserved += Math.max(0, waitedMs - before);
    this.#lookedAt = { pid, waitedMs };
    return { all: performance.now() - this.#begunAt, unserved: this.#unserved };
  }

  get isOver(): boolean {
    const { all, unserved } = this.passed;
    return all - unserved > this.#milliseconds || all > MOST * this.#milliseconds;
  }
}

/** Calls back once, when a process has used up its time. */
export function impatient(
  { pid }: ChildProcess,
  milliseconds: number,
  onOver: (passed: Passed) => void,
): NodeJS.Timeout {
  const patience = new Patience(milliseconds, () => pid);
  const timer = setInterval(() => {
    if (!patience.isOver) return;
    clearInterval(timer);
    onOver(patience.passed);
  }, LOOK_MS);
  return timer;
}

/** How long a process's main thread has waited for a CPU, in milliseconds. */
function waitedForProcessor(pid: number | undefined): number {
  if (pid === undefined) return 0;
  try {
    const [, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ");
    return Number(waitedNs) / 1e6 || 0;
  } catch {
    return 0;
  }
}
