/**
 * Loaded into a daemon under test (`node --import`): notes how long its event loop was held at a
 * time. Measured is the CPU time of the loop's own thread: on a busy machine a turn waits for others
 * longer than it works, and other threads hold nobody up. Also answers the process's CPU time.
 */
import { openSync, readSync } from "node:fs";

/** The answer of the probe; asking starts anew. */
export interface LoopUse {
  readonly cpuMs: number;
  /** The most CPU time of one turn of the loop. */
  readonly longestMs: number;
  /** Turns of more than 20 ms. */
  readonly heldTurns: number;
}

const HELD_MS = 20;
/** After a longer turn the next one is measured by itself; looking at each idle one would be a load. */
const BUSY_MS = 1;

const loopMs = threadClock() ?? cpuMs;
let last = loopMs();
let longestMs = 0;
let heldTurns = 0;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The CPU time of this thread, where the kernel tells it. */
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

/** One turn between two of these: it is queued again only when all that was due is done. */
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
