/**
 * Loaded into every server under test (`node --import`): reports CPU time and memory over the IPC
 * channel, so that all servers are measured in the same way on every platform. To separate live
 * memory from garbage it enables V8's `gc` late: a command-line flag would invalidate the build's
 * bytecode.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { microsOfChildren } from "./process-time.ts";

/** The answer of the probe. */
export interface Usage {
  /** User and system time of the process since its start, on Linux including its children. */
  readonly cpuMicros: number;
  /** The resident set after a full garbage collection. */
  readonly rssBytes: number;
}

process.on("message", (question) => {
  // Why: the daemon's workers inherit the probe, and receive other messages.
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

// Unreferenced, so that waiting for a question does not keep a finished server alive.
process.channel?.unref();
