/**
 * Loaded into a daemon under test (`node --import`): records how long single turns of its event
 * loop take. It measures the CPU time of the loop's own thread: on a busy machine a turn mostly
 * waits for other processes, and other threads do not block the loop. Also reports the process's
 * CPU time.
 */
import { openSync, readSync } from "node:fs";

/** The report of the probe; each query resets it. */
export interface LoopUse {
  readonly cpuMs: number;
  /** The maximum CPU time of one turn of the loop. */
  readonly longestMs: number;
  /** The number of turns of more than 20 ms. */
  readonly heldTurns: number;
}

const HELD_MS = 20;
/**
 * Only after a turn longer than this is the next one measured separately; measuring every idle turn
 * would be a load.
 */
const BUSY_MS = 1;

const loopMs = threadClock() ?? cpuMs;
let last = loopMs();
let longestMs = 0;
let heldTurns = 0;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** A clock of this thread's CPU time, if the kernel provides it. */
function threadClock(): (() => number) | undefined {
  try {
    const file = openSync("/proc/thread-self/schedstat", "r");
    const line = Buffer.alloc(96);
    return () => {
      const length = readSync(file, line, 0, line.length, 0);
      return Number(line.toString("latin1", 0, length).split(" ", 1)[0]) / 1e6;
    };
  } catch {
    return undefined;
  }
}

/** Queued again after everything that is due, so one turn lies between two calls. */
function tick(): void {
  const now = loopMs();
  const turnMs = now - last;
  longestMs = Math.max(longestMs, turnMs);
  if (turnMs > HELD_MS) heldTurns += 1;
  last = now;
  if (turnMs > BUSY_MS) setImmediate(tick).unref();
  else setTimeout(() => setImmediate(tick), 1).unref();
}
setImmediate(tick);

process.on("message", () => {
  const use: LoopUse = { cpuMs: cpuMs(), longestMs, heldTurns };
  longestMs = 0;
  heldTurns = 0;
  process.send?.(use);
});
process.channel?.unref();
