/**
 * `.env` beside the configuration: variables for `${VAR}` that the environment does not have. It is
 * read with the configuration, so that a reload reads it anew; what is in the environment wins.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { Environment } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";

/** The name of the file. */
export const ENV_FILE = ".env";

/** The variables that a deployment has. */
export interface DeploymentEnvironment {
  readonly environment: Environment;
  readonly problems: readonly Problem[];
}

const MAX_BYTES = 256 * 1024;

/** The environment with the variables of a deployment's file, if it has one. */
export function environmentAt(directory: string, environment: Environment): DeploymentEnvironment {
  const path = join(directory, ENV_FILE);
  if (!existsSync(path)) return { environment, problems: [] };
  const { text, fault } = readBoundedFile(path, MAX_BYTES);
  if (text === undefined) {
    return { environment, problems: [{ file: ENV_FILE, key: "", message: fault }] };
  }
  return { environment: { ...parseEnv(text), ...environment }, problems: [] };
}
