/**
 * The methods beyond the floor that endpoints of the server itself have: no file of the deployment names
 * them, and a catalog without one has the server refuse its own endpoint with 459.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isTable } from "../../base/toml-document.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { MethodRole, Reference } from "./reference.ts";

/** Packs and workflows are served from there without a section. */
const OPENWOP_DIR = "agents/openwop";

/** Those that this configuration brings, unless it allows nobody to use them. */
export function ownEndpoints(
  config: DeploymentText,
  directory: string,
): readonly Reference<MethodRole>[] {
  const { openwop, agntcy, policies } = config.table;
  const hasRuns = isTable(openwop) || existsSync(resolve(directory, OPENWOP_DIR));
  const hasAgents = Array.isArray(agntcy) && agntcy.length > 0;
  const methods = isTable(policies) ? policies["methods"] : undefined;
  const { allow = "*", disallow = [] } = isTable(methods) ? methods : {};
  const isAllowed = (method: string): boolean => {
    const isListed = !Array.isArray(allow) || allow.includes(method);
    return isListed && !(Array.isArray(disallow) && disallow.includes(method));
  };
  const named: readonly (readonly [key: string, method: string])[] = [
    ...(hasRuns
      ? ([
          ["openwop", "CANCEL"],
          ["openwop", "FORK"],
        ] as const)
      : []),
    ...(hasAgents ? ([["agntcy[0]", "CANCEL"]] as const) : []),
    ["policies.methods.custom", "RESUME"],
  ];
  return named
    .filter(([, method]) => isAllowed(method))
    .map(([key, value]) => {
      return { source: config, key, role: "own-endpoint", value, isWritten: false, within: {} };
    });
}
