/**
 * Loaded into a daemon under test (`node --import`): notes how long its event loop was held at a
 * time, in CPU time, because on a busy machine a slice waits for others longer than it works. Also
 * answers how much CPU time the process has used.
 */

/** What the probe answers; asking starts anew. */
export interface LoopUse {
  readonly cpuMs: number;
  /** The most CPU time of one turn of the loop. */
  readonly longestMs: number;
  /** Turns of more than 20 ms. */
  readonly heldTurns: number;
}

const HELD_MS = 20;

let last = cpuMs();
let longestMs = 0;
let heldTurns = 0;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** One turn between two of these: it is queued again only when all that was due is done. */
function tick(): void {
  const now = cpuMs();
  longestMs = Math.max(longestMs, now - last);
  if (now - last > HELD_MS) heldTurns += 1;
  last = now;
  setTimeout(() => setImmediate(tick), 1).unref();
}
setImmediate(tick);

process.on("message", () => {
  const use: LoopUse = { cpuMs: cpuMs(), longestMs, heldTurns };
  longestMs = 0;
  heldTurns = 0;
  process.send?.(use);
});
process.channel?.unref();
