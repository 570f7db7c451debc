/**
 * The parts of a configuration whose work a node would take up from another that is at it: a deployment
 * that has them is served by one node at a time.
 */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import type { Problem } from "../base/problem.ts";
import type { Config } from "./config/config.ts";

/** A problem for each part that cannot be served beside another node. */
export function findUnshared(config: Config): readonly Problem[] {
  const file = relative(config.directory, config.file);
  return unsharedKeys(config).map((key) => ({
    file,
    key,
    message:
      "cannot be served beside another node of this store: runs and deliveries are not shared",
    hint: "leave it out on all nodes, or stop the other one",
  }));
}

/** The keys of what one process has to itself. */
export function unsharedKeys(config: Config): readonly string[] {
  const { openwop, agentcli, agntcy, webhooks, synthesis } = config;
  const folders = { packs_dir: openwop.packsDir, workflows_dir: openwop.workflowsDir };
  const filled = Object.entries(folders).filter(([, path]) => existsSync(path));
  const isAsking = webhooks.escalations !== undefined;
  return [
    ...filled.map(([key]) => `openwop.${key}`),
    ...(isFilled(agentcli["expose"]) ? ["agentcli.expose"] : []),
    ...(agntcy.length > 0 ? ["agntcy"] : []),
    ...(isAsking ? ["webhooks.escalations"] : []),
    ...(Object.keys(webhooks.recipients).length > 0 ? ["webhooks.recipients"] : []),
    ...(synthesis.asyncEvaluation ? ["synthesis.async_evaluation"] : []),
  ];
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}
