/**
 * Loaded into every server under test (`node --import`): answers its parent's questions about CPU
 * time and memory over the IPC channel, so that each server is measured by the same means on every
 * platform. Needs `--expose-gc`, to tell live memory from garbage.
 */

import { readFileSync } from "node:fs";

/** The answer of the probe. */
export interface Usage {
  /** User and system time of the process since its start, and on Linux of those that it has started. */
  readonly cpuMicros: number;
  /** Resident set after a full collection. */
  readonly rssBytes: number;
}

process.on("message", (question) => {
  // The daemon's own workers have the probe as well, and are handed other things.
  if (question !== "usage" && question !== "memory") return;
  if (question === "memory") globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const usage: Usage = {
    cpuMicros: user + system + childMicros(),
    rssBytes: process.memoryUsage.rss(),
  };
  process.send?.(usage);
});
/** One tick of the kernel's accounts, in microseconds. */
const TICK = 10_000;

function childMicros(): number {
  try {
    const { pid } = process;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return children
      .split(" ")
      .filter((child) => child !== "")
      .reduce((sum, child) => sum + micros(readFileSync(`/proc/${child}/stat`, "utf8")), 0);
  } catch {
    return 0;
  }
}

/** User and system time are the 14th and the 15th field; the second is a name in brackets. */
function micros(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK;
}

// A question may come, but waiting for one must not keep a server alive that is done.
process.channel?.unref();
