/**
 * The fault of the OpenWOP part of a deployment, by its files alone: packs, workflows, bearer
 * keys and the tables about agents. Nothing is issued, started or asked for.   OpenWOP RFC 0072
 */
import { basename } from "node:path";
import { atOnce } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { createRegistry } from "../../endpoint/endpoint-registry.ts";
import { createSchemaCompiler } from "../../schema/schema.ts";
import { createAgentRegistry } from "./agent-registry.ts";
import type { OpenwopSections } from "./config.ts";
import {
  findAgentMistakes,
  findKeyMistakes,
  findTableMistakes,
  findToolMistakes,
} from "./find-mistakes.ts";
import { nodeTypes } from "./nodes/known-nodes.ts";
import { readingPacks } from "./read-packs.ts";
import { loadWorkflows } from "./workflows/load-workflows.ts";

/** Everything, errors and warnings; `endpoints` are the operator's. */
export function surveyOpenwop(
  config: OpenwopSections,
  endpoints: readonly EndpointDefinition[],
): readonly Problem[] {
  const file = basename(config.file);
  const { openwop } = config;
  const { packs, problems, blockers } = atOnce(readingPacks(config));
  const registry = createAgentRegistry(packs);
  const compiler = createSchemaCompiler();
  const workflows = loadWorkflows({
    ...{ directory: config.directory, dir: openwop.workflowsDir, compiler },
    types: nodeTypes({
      ...{ compiler, isConformance: openwop.conformance },
      executor: { find: () => undefined, takeTurn: () => Promise.reject(new Error("no turns")) },
      effects: { record: () => Promise.reject(new Error("no effects")) },
      mockAgent: { reasoning: openwop.reasoning, thresholdOf: () => undefined },
    }),
    remarksOn: (definition) => findAgentMistakes(definition, registry, openwop.tenant),
  });
  return [
    ...blockers,
    ...problems,
    ...findTableMistakes(openwop, registry.all, file),
    ...findToolMistakes(packs, isFound(endpoints)),
    ...findKeyMistakes(openwop.apiKeys, file),
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
