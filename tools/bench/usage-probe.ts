/**
 * Loaded into every server under test (`node --import`): answers its parent's questions about CPU
 * time and memory over the IPC channel, so that each server is measured by the same means on every
 * platform. To tell live memory from garbage it asks V8 for its collector late: a flag of the command line would make
 * bytecode of the build unfit.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { microsOfChildren } from "./process-time.ts";

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
  if (question === "memory") collectGarbage();
  const { user, system } = process.cpuUsage();
  const usage: Usage = {
    cpuMicros: user + system + microsOfChildren(process.pid),
    rssBytes: process.memoryUsage.rss(),
  };
  process.send?.(usage);
});
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
}

// A question may come, but waiting for one must not keep a server alive that is done.
process.channel?.unref();
