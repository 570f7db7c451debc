/** How a process is started: an entry of `[[processes]]`, resolved. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Environment } from "../../base/environment.ts";
import type { ProgramStart } from "../../base/process-groups.ts";
import type { ProcessConfig } from "./processes-section.ts";

/** One entry; the environment is whole, the directory absolute. */
export interface ProcessSettings extends ProgramStart {
  readonly name: string;
  readonly count: number;
  readonly concurrency: number;
}

/** Variables of the daemon's own that a process gets. */
const PASSED_ON = ["PATH", "HOME", "LANG", "TZ"];

/** Resolves an entry against the directory of its deployment. */
export function processSettings(
  { name, command, count, concurrency, env, cwd }: ProcessConfig,
  directory: string,
  environment: Environment,
): ProcessSettings {
  const [program = "", ...args] = command;
  const passed = PASSED_ON.flatMap((key) => {
    const value = environment[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  const isElsewhere = resolve(cwd) !== resolve(directory);
  return {
    ...{ name, count, concurrency, directory: cwd },
    program: program.includes("/") ? resolve(directory, program) : program,
    // A program in another directory would look for the deployment's files there.
    args: isElsewhere ? args.map((one) => fileOf(one, directory)) : args,
    env: { ...Object.fromEntries(passed), ...env },
  };
}

/** An argument that is a file of the deployment, by its absolute path; any other as it is. */
function fileOf(argument: string, directory: string): string {
  if (!argument.includes("/")) return argument;
  const path = resolve(directory, argument);
  return existsSync(path) ? path : argument;
}
