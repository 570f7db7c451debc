/** `[[processes]]`: the operator's programs that answer calls over their pipes, and how each is started. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Environment } from "../../base/environment.ts";
import type { ProgramStart } from "../../base/process-groups.ts";
import {
  count,
  list,
  optional,
  path,
  type Schema,
  table,
  text,
  variables,
  word,
} from "../../schema/section-field.ts";

/** `[[processes]]` */
export interface ProcessConfig {
  readonly name: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly count: number;
  /** The maximum of simultaneous calls in each process. */
  readonly concurrency: number;
  /** Values are secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** An absolute path. */
  readonly cwd: string;
}

const process: Schema = table(
  "A program whose functions endpoints name as NAME:FUNCTION",
  {
    name: optional(
      word(
        "",
        "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
        "letters, digits, - and _",
        "How endpoints name it, before the colon",
      ),
    ),
    command: optional({
      ...list(
        text("", "", { pattern: "^[^\\u0000]*$", expected: "a text" }),
        "The program and its arguments, relative to the deployment",
      ),
      minItems: 1,
    }),
    count: count(1, "How many processes; a call goes to the least busy", 256),
    concurrency: count(16, "Calls at once in each; more wait", 10_000),
    env: variables("Its variables, beside PATH, HOME, LANG and TZ"),
    cwd: path(".", "The directory that it runs in"),
  },
  ["name", "command"],
);

/** `[[processes]]` */
export const processesSection: Schema = list(process, "Programs whose functions endpoints name");

/** A resolved entry: the complete environment, and an absolute directory. */
export interface ProcessSettings extends ProgramStart {
  readonly name: string;
  readonly count: number;
  readonly concurrency: number;
}

/** The daemon's environment variables that a process inherits. */
const PASSED_ON = ["PATH", "HOME", "LANG", "TZ"];

/** Resolves an entry relative to the directory of its deployment. */
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

/** Makes an argument absolute if it is a file of the deployment. */
function fileOf(argument: string, directory: string): string {
  if (!argument.includes("/")) return argument;
  const path = resolve(directory, argument);
  return existsSync(path) ? path : argument;
}
