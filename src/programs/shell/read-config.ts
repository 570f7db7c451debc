/** The configuration that a command is asked about. */
import { resolve } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { loadConfig } from "../../app/config/load.ts";
import { urlAuthority } from "../../base/addresses.ts";
import { formatProblem, isError, type Problem } from "../../base/problem.ts";
import { CommandRefusal, FileProblems } from "./command.ts";
import type { Terminal } from "./terminal.ts";

/** A configuration, or a usage error with everything that is wrong with it. */
export function readConfig(path: string, { directory, environment }: Terminal): Config {
  const { config, problems } = loadConfig(resolve(directory, path), environment);
  if (config !== undefined) return config;
  throw new FileProblems(problems.filter(isError));
}

/** The answer no, for problems of a deployment. */
export function refusalOf(problems: readonly Problem[]): CommandRefusal {
  return new CommandRefusal(problems.map(formatProblem).join("; "), problems);
}

const AGTP_PORT = 4480;

/** The address that a server is reached by, as far as its configuration says. */
export function serverUri({ server: { domain, host, port } }: Config): string {
  return `agtp://${domain ?? urlAuthority(host, port, AGTP_PORT)}`;
}
