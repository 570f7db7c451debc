/** The world of a real process. */
import { hostname, userInfo } from "node:os";
import type { Environment } from "../../base/environment.ts";
import { ProcessGroups } from "../../base/process-groups.ts";
import { createAskJson } from "./ask-json.ts";
import { KeySets } from "./governance/key-sets.ts";
import { runProgram } from "./run-program.ts";
import type { World } from "./world.ts";

/** Relative paths start in the directory. */
export function createWorld(
  env: Environment,
  directory: string,
  groups: ProcessGroups = new ProcessGroups(),
): World {
  const askJson = createAskJson();
  return {
    ...{ env, directory, operator: operatorName() },
    ...{ askJson, keySets: new KeySets(askJson) },
    runProgram: (call) => runProgram(call, groups),
  };
}

/** A process may run as a user that has no name. */
function operatorName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}
