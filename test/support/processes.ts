/** Processes of a test: their entry in the configuration, and whether one of the system is there. */
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { configFile, type DeploymentFiles, endpointFile } from "./deployment.ts";

/** The process whose argument says how it misbehaves. */
export const HANDLER_PROCESS: string = join(import.meta.dirname, "handler-process.mjs");

/** A part of a `[[processes]]` entry. */
export interface ProcessEntry {
  readonly count?: number;
  readonly concurrency?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** The configuration of one process called `rooms`, in a mode of the test's process. */
export function processConfig(
  mode: readonly string[] = [],
  more: ProcessEntry = {},
  tables: Readonly<Record<string, object>> = {},
): string {
  const command = [process.execPath, HANDLER_PROCESS, ...mode];
  return configFile({ processes: [{ name: "rooms", command, ...more }] as object, ...tables });
}

/**
 * An endpoint `QUERY /NAMEs` for each function of that process, `QUERY /PROCESS-NAMEs` for
 * `PROCESS:NAME`; any input goes.
 */
export function processEndpoints(...functions: readonly string[]): DeploymentFiles {
  const endpoints = functions.map((one) => {
    const name = one.replace(":", "-");
    const reference = one.includes(":") ? one : `rooms:${one}`;
    const handler = { type: "registered_function", function: reference };
    const properties = { ms: {}, method: {}, path: {}, input: {}, text: {} };
    const errors = ["room_unavailable"];
    const file = endpointFile({ method: "QUERY", path: `/${name}s`, properties, errors, handler });
    return [`endpoints/${name}.toml`, file] as const;
  });
  return Object.fromEntries(endpoints);
}

/** True if this user may run a file. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** True if the system still has a process that is no zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // It may be gone by now, of which there is no line.
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z]/.test(stdout.trim());
}
