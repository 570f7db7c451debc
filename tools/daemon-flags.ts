/** The Node flags of the programs, defined only in their first lines. */
import { closeSync, openSync, readSync } from "node:fs";

/** Reads the flags from the built program, for callers that start it with another interpreter. */
export function daemonFlags(program: string): readonly string[] {
  const file = openSync(program, "r");
  try {
    const start = Buffer.alloc(512);
    const length = readSync(file, start, 0, start.length, 0);
    const [line = ""] = start.toString("utf8", 0, length).split("\n", 1);
    return line.split(" ").filter((word) => word.startsWith("--"));
  } finally {
    closeSync(file);
  }
}
