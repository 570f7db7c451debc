/**
 * What is wrong with the OpenWOP part of a deployment, by its files alone: packs, workflows, bearer
 * keys and the tables about agents. Nothing is issued, started or asked for.   OpenWOP RFC 0072
 */
import { basename } from "node:path";
import { agentRef } from "../agents/openwop/agent-ref.ts";
import { createAgentRegistry } from "../agents/openwop/agent-registry.ts";
import {
  findAgentMistakes,
  findKeyMistakes,
  findTableMistakes,
  findToolMistakes,
} from "../agents/openwop/find-mistakes.ts";
import { nodeTypes } from "../agents/openwop/nodes/known-nodes.ts";
import { readRunSettings } from "../agents/openwop/run-settings.ts";
import { readOpenwopSettings } from "../agents/openwop/settings.ts";
import { loadWorkflows } from "../agents/openwop/workflows/load-workflows.ts";
import { FLOOR_METHODS } from "../catalog/catalog.ts";
import type { Config } from "../config/config.ts";
import type { EndpointDefinition } from "../contract/endpoint.ts";
import { createRegistry } from "../contract/endpoint-registry.ts";
import { createSchemaCompiler } from "../contract/schema.ts";
import type { Problem } from "../problem.ts";
import { readPacks } from "./openwop-packs.ts";

/** Everything, errors and warnings; `endpoints` are the operator's. */
export function surveyOpenwop(
  config: Config,
  endpoints: readonly EndpointDefinition[],
): readonly Problem[] {
  const file = basename(config.file);
  const settings = readOpenwopSettings(config);
  const { workflowsDir, apiKeys } = readRunSettings(config);
  const { packs, problems } = readPacks(config, settings);
  const registry = createAgentRegistry(packs);
  const compiler = createSchemaCompiler();
  const names = {
    all: registry.all,
    reference: (agentId: string, tenant: string) => {
      const agent = registry.find(agentId, tenant);
      return agent && agentRef(agent);
    },
  };
  const workflows = loadWorkflows({
    ...{ directory: config.directory, dir: workflowsDir, compiler },
    types: nodeTypes({
      ...{ compiler, isConformance: settings.isConformance },
      executor: { find: () => undefined, takeTurn: () => Promise.reject(new Error("no turns")) },
      mockAgent: { reasoning: settings.reasoning, thresholdOf: () => undefined },
    }),
    remarksOn: (definition) => findAgentMistakes(definition, names, settings.tenant),
  });
  return [
    ...problems,
    ...findTableMistakes(settings, registry.all, file),
    ...findToolMistakes(packs, isFound(endpoints)),
    ...findKeyMistakes(apiKeys, file),
    ...workflows.problems,
  ];
}

/** The operator's endpoints; one that only a daemon has cannot be looked for here. */
function isFound(
  endpoints: readonly EndpointDefinition[],
): (method: string, path: string) => boolean {
  const { registry } = createRegistry(endpoints);
  const floor: ReadonlySet<string> = new Set(FLOOR_METHODS);
  return (method, path) =>
    floor.has(method) || OWN_PATH.test(path) || registry.find(method, path) !== undefined;
}

const OWN_PATH = /^\/(?:agents|runs)(?:\/|$)/;
