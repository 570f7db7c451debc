/**
 * The methods beyond the floor that endpoints of the server itself have: no file of the deployment names
 * them, and a catalog without one has the server refuse its own endpoint with 459.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Environment, substituteVariables } from "../../base/environment.ts";
import { isTable } from "../../base/toml-document.ts";
import { ManifestLibrary } from "../../modules/agntcy/dependencies/manifest-library.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { MethodRole, Reference } from "./reference.ts";

/** Packs and workflows are served from there without a section. */
const OPENWOP_DIR = "agents/openwop";

/** Those that this configuration brings, unless it allows nobody to use them. */
export function ownEndpoints(
  config: DeploymentText,
  { directory, environment }: { readonly directory: string; readonly environment: Environment },
): readonly Reference<MethodRole>[] {
  const { openwop, agntcy, policies } = config.table;
  const hasRuns = isTable(openwop) || existsSync(resolve(directory, OPENWOP_DIR));
  const agents = Array.isArray(agntcy) ? agntcy : [];
  const threading = agents.findIndex((agent) => hasThreads(agent, directory, environment));
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
    ...(agents.length > 0 ? ([["agntcy[0]", "CANCEL"]] as const) : []),
    ...(threading === -1 ? [] : ([[`agntcy[${threading}]`, "CREATE"]] as const)),
    ["policies.methods.custom", "RESUME"],
  ];
  return named
    .filter(([, method]) => isAllowed(method))
    .map(([key, value]) => {
      return { source: config, key, role: "own-endpoint", value, isWritten: false, within: {} };
    });
}

/** Tells whether an agent has threads, by its manifest; one that cannot be read is not served. */
function hasThreads(agent: unknown, directory: string, environment: Environment): boolean {
  const written = isTable(agent) ? agent["manifest"] : undefined;
  if (typeof written !== "string") return false;
  const { text } = substituteVariables(written, environment);
  if (text === undefined) return false;
  const { manifest } = new ManifestLibrary({ directory }).read(resolve(directory, text));
  return manifest?.specs.capabilities.threads === true;
}
