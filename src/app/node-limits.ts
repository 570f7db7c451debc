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

function unsharedKeys(config: Config): readonly string[] {
  const { openwop, agentcli, agntcy, webhooks, synthesis } = config;
  const folders = ["packs_dir", "workflows_dir"].filter((key) => isThere(openwop[key]));
  const isAsking = webhooks.escalations !== undefined;
  return [
    ...folders.map((key) => `openwop.${key}`),
    ...(isFilled(agentcli["expose"]) ? ["agentcli.expose"] : []),
    ...(agntcy.length > 0 ? ["agntcy"] : []),
    ...(isAsking ? ["webhooks.escalations"] : []),
    ...(Object.keys(webhooks.recipients).length > 0 ? ["webhooks.recipients"] : []),
    ...(synthesis.asyncEvaluation ? ["synthesis.async_evaluation"] : []),
  ];
}

function isThere(path: unknown): boolean {
  return typeof path === "string" && existsSync(path);
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}
