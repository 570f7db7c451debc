/** The flags of Node that the programs run with: their first lines have them, and nobody else repeats them. */
import { closeSync, openSync, readSync } from "node:fs";

/** Reads them from the built program, for those who start it with an interpreter of their choice. */
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
