/**
 * Runs of OpenWOP workflows and agents: one host behind the AGTP endpoints, the agents' own endpoints
 * and the HTTP face, all of a deployment.   OpenWOP RFC 0072 §B
 */

import { basename } from "node:path";
import { traceOf } from "../base/thrown.ts";
import { recordStreamEvents } from "../dispatch/stream-events.ts";
import type { GatewayFace } from "../modules/gateway/face.ts";
import { createCatalog } from "../modules/openwop/agent-catalog.ts";
import { ApiKeys } from "../modules/openwop/face/api-keys.ts";
import { discoveryDocument } from "../modules/openwop/face/discovery.ts";
import type { FaceParts } from "../modules/openwop/face/face-route.ts";
import { openwopFace } from "../modules/openwop/face/openwop-face.ts";
import { findAgentMistakes, findKeyMistakes } from "../modules/openwop/find-mistakes.ts";
import { nodeTypes } from "../modules/openwop/nodes/known-nodes.ts";
import { runEndpoints } from "../modules/openwop/run-endpoints.ts";
import { readRunSettings } from "../modules/openwop/run-settings.ts";
import { runSource } from "../modules/openwop/run-source.ts";
import { agentRuns } from "../modules/openwop/runs/agent-runs.ts";
import { RunHost } from "../modules/openwop/runs/run-host.ts";
import type { Redact } from "../modules/openwop/runs/run-log.ts";
import { loadWorkflows } from "../modules/openwop/workflows/load-workflows.ts";
import { exceptStoreFaults } from "../state/store-fault.ts";
import type { OpenwopAgents } from "./openwop-agents.ts";
import { RunEscalations } from "./openwop-escalations.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** The part; it goes before the keeper of escalations, whose confirmations it passes on to runs. */
export function runsPart(parts: FloorParts): FloorPart {
  const { config, compiler, floor, openwop, log } = parts;
  const { register, face: kept } = floor.openwop;
  const { executor, starter, maxWaitMs, registry, redactor } = openwop;
  const { tenant, isConformance, installScope, reasoning } = openwop.settings;
  const { toolCallsPerMinute } = openwop.settings;
  const { workflowsDir, apiKeys, limits } = readRunSettings(config);
  const catalog = createCatalog(openwop);
  const redact = redactWith(openwop);
  const types = nodeTypes({
    ...{ executor, compiler, isConformance, effects: kept.effects },
    mockAgent: {
      reasoning,
      thresholdOf: (agentId, owner) => registry.find(agentId, owner)?.confidenceThreshold,
    },
  });
  const { directory } = config;
  const { workflows, problems } = loadWorkflows({
    ...{ directory, dir: workflowsDir, types, compiler },
    remarksOn: (definition) =>
      findAgentMistakes(
        definition,
        { all: registry.all, reference: catalog.reference.bind(catalog) },
        tenant,
      ),
  });
  const watcher = new RunEscalations({
    escalations: floor.tasks.escalations,
    agtpIdOf: (agentId, owner) => agtpIdOf(openwop, agentId, owner),
    record: recordStreamEvents(parts),
    confirmables: parts.confirmables,
    onFault: exceptStoreFaults((error) => {
      const trace = redact(traceOf(error));
      log.warn({ trace }, "a run that waits could not be told to operators");
    }),
  });
  const host = new RunHost({
    ...{ register, workflows, types, catalog, compiler, redact, limits, isConformance, log },
    watcher,
    stopping: floor.stopping.signal,
  });
  watcher.serve(host);
  starter.use(agentRuns(host));
  const isServing = isConformance || registry.all.length > 0 || workflows.size > 0;
  const agentIds = new Set(registry.all.map(({ agentId }) => agentId));
  const discovery = discoveryDocument({
    ...{ isConformance, installScope, agentIds, workflows },
    ...{ limits, reasoning, toolCallsPerMinute },
  });
  const face = openFace(config.limits.bodyBytes, {
    ...{ host, catalog, executor, redact, isConformance, discovery, log, state: kept },
    ...{ keys: new ApiKeys(apiKeys), toolCallsPerMinute, toll: floor.toll },
  });
  return {
    endpoints: runEndpoints({
      ...{ host, tenant, maxWaitMs, isListed: isServing, redactor },
      agtpIdOf: (agentId, owner) => agtpIdOf(openwop, agentId, owner),
    }),
    sources: [runSource(host, tenant)],
    confirmables: [watcher],
    faces: isServing ? [face] : [],
    skipped: [...problems, ...findKeyMistakes(apiKeys, basename(config.file))],
    start: () => {
      host.start();
      void watcher.start();
    },
    close: async () => host.close(),
  };
}

function openFace(bodyBytes: number, parts: FaceParts): GatewayFace {
  return {
    name: "openwop",
    description: "OpenWOP: the agents of this server, and runs of them and of workflows.",
    mounts: openwopFace(parts, bodyBytes),
    documentation: "/v1/openapi.json",
  };
}

/** What a redactor returns is of the shape that it was given. */
function redactWith({ redactor }: OpenwopAgents): Redact {
  return <Value>(value: Value): Value => redactor.value(value) as Value;
}

function agtpIdOf(
  { registry, documentOf }: OpenwopAgents,
  agentId: string,
  tenant: string,
): string | undefined {
  const agent = registry.find(agentId, tenant);
  return agent && documentOf(agent)?.agentId;
}
