/**
 * Finds names in configurations and packs that refer to nothing and would be ignored silently. A bad key or table is an
 * error; a name that may exist later, such as an agent or an endpoint, is a warning.   OpenWOP "auth", RFC 0072
 */

import { basename } from "node:path";
import { joinIndex, joinKey } from "../../base/dotted-key.ts";
import { isRecord, quoteValue } from "../../base/json-value.ts";
import { atOnce } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { createRegistry } from "../../endpoint/endpoint-registry.ts";
import { createSchemaCompiler } from "../../schema/schema.ts";
import type { OpenwopApiKey, OpenwopConfig, OpenwopSections } from "./config.ts";
import { FACE_SCOPES } from "./http/api-keys.ts";
import {
  type AgentRef,
  createAgentRegistry,
  type InstalledAgent,
  type InstalledPack,
  MANIFEST_CLASSES,
} from "./installed-agent.ts";
import { nodeTypes } from "./nodes/known-nodes.ts";
import { readingPacks } from "./packs/load-packs.ts";
import { findPinFault } from "./runs/agent-pins.ts";
import { readToolId } from "./turn/tool-calls.ts";
import type { WorkflowFault } from "./workflows/check-workflow.ts";
import { loadWorkflows } from "./workflows/load-workflows.ts";
import type { WorkflowDefinition } from "./workflows/workflow.ts";

/** OpenWOP scopes that no operation of this server requires. */
const UNUSED_SCOPES: ReadonlySet<string> = new Set([
  ...["artifacts:read", "webhooks:manage", "packs:publish", "packs:yank"],
]);

/** Finds duplicate bearer keys and mistakes in their scopes; `file` is the configuration. */
export function findKeyMistakes(keys: readonly OpenwopApiKey[], file: string): readonly Problem[] {
  return [...findRepeatedKeys(keys, file), ...findScopeMistakes(keys, file)];
}

/** Each key belongs to one tenant: of duplicates only the last would count. */
function findRepeatedKeys(keys: readonly OpenwopApiKey[], file: string): readonly Problem[] {
  return keys.flatMap(({ sha256 }, at): Problem[] => {
    const first = keys.findIndex((one) => one.sha256 === sha256);
    if (first === at) return [];
    const key = joinKey(joinIndex("openwop.api_keys", at), "sha256");
    const message = `is the key of ${joinIndex("openwop.api_keys", first)} already`;
    return [{ file, key, message }];
  });
}

function findScopeMistakes(keys: readonly OpenwopApiKey[], file: string): readonly Problem[] {
  const known: readonly string[] = FACE_SCOPES;
  return keys.flatMap(({ scopes }, at) =>
    scopes.flatMap((scope, index): Problem[] => {
      if (known.includes(scope)) return [];
      const key = joinIndex(joinKey(joinIndex("openwop.api_keys", at), "scopes"), index);
      const expected = `expected some of ${known.join(", ")}`;
      if (!UNUSED_SCOPES.has(scope)) {
        return [{ file, key, message: `${quoteValue(scope)} is no scope of keys, ${expected}` }];
      }
      const message = `${quoteValue(scope)} opens nothing here, ${expected}`;
      return [{ file, key, message, severity: "warning" }];
    }),
  );
}

/** Finds mistakes in the grants to agents and the models by class; `file` is the configuration. */
export function findTableMistakes(
  { agents: granted, runtime }: Pick<OpenwopConfig, "agents" | "runtime">,
  agents: readonly Pick<InstalledAgent, "agentId">[],
  file: string,
): readonly Problem[] {
  const installed = new Set(agents.map(({ agentId }) => agentId));
  const classes: readonly string[] = [...MANIFEST_CLASSES, "default"];
  const models = runtime.kind === "openai-compatible" ? Object.keys(runtime.models) : [];
  return [
    ...Object.keys(granted)
      .filter((agentId) => !installed.has(agentId))
      .map((agentId): Problem => {
        const key = joinKey("openwop.agents", agentId);
        return { file, key, message: "is nobody: no such agent is installed", severity: "warning" };
      }),
    ...models
      .filter((name) => !classes.includes(name))
      .map((name): Problem => {
        const message = `is no class of model, expected one of ${classes.join(", ")}`;
        return { file, key: joinKey("openwop.runtime.models", name), message };
      }),
  ];
}

/** Tools of other hosts, such as `mcp:weather`: portable packs may list them. */
const FOREIGN = /^(?!agtp:)[a-z][a-z0-9.-]*:\S/;

/** Finds tools of agents that name no endpoint. */
export function findToolMistakes(
  packs: readonly InstalledPack[],
  isEndpoint: (method: string, path: string) => boolean,
): readonly Problem[] {
  return packs.flatMap(({ file, agents, manifest }) =>
    agents.flatMap(({ agentId, toolAllowlist }): Problem[] => {
      const lost = toolAllowlist.filter((tool) => {
        if (FOREIGN.test(tool)) return false;
        const named = readToolId(tool);
        return named === undefined || !isEndpoint(named.method, named.path);
      });
      if (lost.length === 0) return [];
      const written = Array.isArray(manifest["agents"]) ? manifest["agents"] : [];
      const at = written.findIndex((one) => isRecord(one) && one["agentId"] === agentId);
      const key = joinKey(joinIndex("agents", at), "toolAllowlist");
      const message = `${listed(lost)} no endpoint of this server, expected "agtp:METHOD /path"`;
      return [{ file, key, message, severity: "warning" }];
    }),
  );
}

const MAX_LISTED = 5;

function listed(tools: readonly string[]): string {
  const shown = tools.slice(0, MAX_LISTED).map(quoteValue).join(", ");
  const others = tools.length > MAX_LISTED ? ` and ${tools.length - MAX_LISTED} more` : "";
  return `${shown}${others} ${tools.length === 1 ? "names" : "name"}`;
}

interface InstalledNames {
  readonly all: readonly Pick<InstalledAgent, "agentId">[];
  reference(agentId: string, tenant: string): AgentRef | undefined;
}

/** Finds agents of a workflow that are not installed or differ from its pins. */
export function findAgentMistakes(
  { nodes, metadata, tenantId }: WorkflowDefinition,
  { all, reference }: InstalledNames,
  tenant: string,
): readonly WorkflowFault[] {
  const installed = new Set(all.map(({ agentId }) => agentId));
  const absent = (key: string, agentId: string): readonly WorkflowFault[] =>
    installed.has(agentId)
      ? []
      : [{ key, message: `${quoteValue(agentId)} is not installed here: its runs fail` }];
  const { requiresAgentId } = metadata;
  return [
    ...nodes.flatMap(({ typeId, agent }, at) => {
      if (agent === undefined) return [];
      const key = joinKey(joinIndex("nodes", at), "agent");
      const fault = findPinFault(agent, { reference }, tenantId ?? tenant);
      return [
        ...(typeId === "core.agent" ? absent(`${key}.agentId`, agent.agentId) : []),
        ...(fault === undefined
          ? []
          : [{ key: `${key}.${fault.member}`, message: `${fault.message}: runs are refused` }]),
      ];
    }),
    ...(typeof requiresAgentId === "string"
      ? absent("metadata.requiresAgentId", requiresAgentId)
      : []),
  ];
}

/** Returns all errors and warnings; `endpoints` are the operator's. */
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
      executor: { has: () => false, takeTurn: () => Promise.reject(new Error("no turns")) },
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

/** Tells whether an endpoint may exist; endpoints that only a running daemon has are assumed to. */
function isFound(
  endpoints: readonly EndpointDefinition[],
): (method: string, path: string) => boolean {
  const { registry } = createRegistry(endpoints);
  const floor: ReadonlySet<string> = new Set(FLOOR_METHODS);
  return (method, path) =>
    floor.has(method) || OWN_PATH.test(path) || registry.find(method, path) !== undefined;
}

const OWN_PATH = /^\/(?:agents|runs)(?:\/|$)/;
