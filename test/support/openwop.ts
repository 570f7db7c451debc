/** Agent packs as tests write them, and agents' turns without a daemon around them. */

import type { Config } from "../../src/app/config/config.ts";
import { loadConfig } from "../../src/app/config/load.ts";
import { formatProblem } from "../../src/base/problem.ts";
import { createRedactor, type KnownSecret, type Redactor } from "../../src/base/redaction.ts";
import { configFile, makeDeployment } from "./deployment.ts";

/** Fields of a manifest that a test sets or takes away. */
export type AgentFields = Readonly<Record<string, unknown>>;

/** Fields of a pack.json. */
export interface PackFields {
  readonly agents?: readonly AgentFields[];
  readonly [field: string]: unknown;
}

const AGENT: AgentFields = {
  agentId: "vendor.test.pack.agent",
  persona: "Agent",
  modelClass: "general",
  systemPrompt: "You are an agent.",
};

/** A pack.json with one agent, unless a test says otherwise. */
export function packFile(fields: PackFields): Readonly<Record<string, unknown>> & {
  readonly agents: readonly AgentFields[];
} {
  const { agents = [{}], ...others } = fields;
  return {
    name: "vendor.test.pack",
    version: "1.0.0",
    engines: { openwop: "^1.0.0" },
    runtime: { language: "remote", entry: "pack.json" },
    ...others,
    agents: agents.map((agent) => (typeof agent === "object" ? { ...AGENT, ...agent } : agent)),
  };
}

/** The files of such a pack, by their names in a deployment. */
export function packFiles(
  fields: PackFields,
  files: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const root = "agents/openwop/pack";
  return {
    [`${root}/pack.json`]: JSON.stringify(packFile(fields)),
    ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`${root}/${name}`, text])),
  };
}

/** A redactor that knows some secrets by their names. */
export function redactorOf(secrets: Readonly<Record<string, string>> = {}): Redactor {
  const known: KnownSecret[] = Object.entries(secrets).map(([name, value]) => ({ name, value }));
  return createRedactor(known);
}

/** A configuration whose `[openwop]` section has more keys than the defaults. */
export function openwopConfig(openwop: Readonly<Record<string, unknown>> = {}): Config {
  const { configPath } = makeDeployment({ "agtp-server.toml": configFile({ openwop }) });
  const { config, problems } = loadConfig(configPath, {});
  if (config === undefined) throw new Error(problems.map(formatProblem).join("\n"));
  return config;
}
