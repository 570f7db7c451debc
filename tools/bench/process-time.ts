/** The CPU time of processes on Linux; 0 elsewhere. */
import { readFileSync } from "node:fs";

/** One tick of the kernel's accounting, in microseconds. */
const TICK = 10_000;

/** User and system time of a process's running children, in microseconds. */
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

/** Like `microsOfChildren`, including the process itself and its ended children. */
export function microsOfTree(pid: number): number {
  try {
    return micros(String(pid), [11, 12, 13, 14]) + microsOfChildren(pid);
  } catch {
    return 0;
  }
}

/** Fields are counted from after the name in parentheses: own times first, then those of ended children. */
function micros(pid: string, fields: readonly number[]): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const values = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.reduce((sum, field) => sum + Number(values[field]), 0) * TICK;
}
