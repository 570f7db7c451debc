/**
 * How long a process is waited for: the time in which the machine gave it no processor is not its own.
 * Linux counts that; elsewhere all time counts.
 */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";

const LOOK_MS = 250;
/** No wait takes longer than so many times what it may. */
const MOST = 10;

/** Milliseconds of a wait. */
export interface Passed {
  readonly all: number;
  /** The process was ready, and given no processor. */
  readonly unserved: number;
}

/** Waits for one process, so many milliseconds of its own at most. */
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

  /** Since it began. */
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

/** Calls back once, when a process has had its time. */
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

/** So long a process has been ready to run and did not, in milliseconds; its first thread alone. */
function waitedForProcessor(pid: number | undefined): number {
  if (pid === undefined) return 0;
  try {
    const [, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ");
    return Number(waitedNs) / 1e6 || 0;
  } catch {
    return 0;
  }
}
