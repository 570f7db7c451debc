/** Reads the configuration that a command works on. */
import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { loadConfig } from "../../app/config/load.ts";
import { urlAuthority } from "../../base/addresses.ts";
import { describeFileError } from "../../base/bounded-file.ts";
import { formatProblem, isError, type Problem } from "../../base/problem.ts";
import { codeOf } from "../../base/thrown.ts";
import { AGTP_PORT } from "../../client/uri.ts";
import { CommandRefusal, FileProblems } from "./command.ts";
import type { Terminal } from "./terminal.ts";

/** Reads a configuration; throws a usage error with every problem. */
export function readConfig(path: string, { directory, environment }: Terminal): Config {
  const { config, problems } = loadConfig(resolve(directory, path), environment);
  if (config !== undefined) return config;
  throw new FileProblems(problems.filter(isError));
}

/** The reason a configuration file cannot be read; undefined if it can. */
export function findReadFault(path: string): Pick<Problem, "message" | "hint"> | undefined {
  try {
    accessSync(path, constants.R_OK);
    if (!statSync(path).isDirectory()) return undefined;
    return { message: "must be a file, is a directory" };
  } catch (error) {
    const message = describeFileError(error);
    if (codeOf(error) !== "ENOENT") return { message };
    return { message, hint: "agtpd init DIR makes a deployment, --config FILE names another" };
  }
}

/** The refusal for problems of a deployment. */
export function refusalOf(problems: readonly Problem[]): CommandRefusal {
  return new CommandRefusal(problems.map(formatProblem).join("; "), problems);
}

/** The URI of a server, as far as its configuration tells. */
export function serverUri({ server: { domain, host, port } }: Config): string {
  return `agtp://${domain ?? urlAuthority(host, port, AGTP_PORT)}`;
}
