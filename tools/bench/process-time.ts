/** The processor's time of processes, as Linux tells it; nothing elsewhere. */
import { readFileSync } from "node:fs";

/** One tick of the kernel's accounts, in microseconds. */
const TICK = 10_000;

/** User and system time of the processes that one has started and that run, in microseconds. */
export function microsOfChildren(pid: number): number {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return children
      .split(" ")
      .filter((child) => child !== "")
      .reduce((sum, child) => sum + micros(child, [11, 12]), 0);
  } catch {
    return 0;
  }
}

/** As `microsOfChildren`, with the process itself and those of its children that have ended. */
export function microsOfTree(pid: number): number {
  try {
    return micros(String(pid), [11, 12, 13, 14]) + microsOfChildren(pid);
  } catch {
    return 0;
  }
}

/** Fields are counted from behind the name, which is in brackets: own times first, then those of ended children. */
function micros(pid: string, fields: readonly number[]): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const values = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.reduce((sum, field) => sum + Number(values[field]), 0) * TICK;
}
