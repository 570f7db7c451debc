/** Builds a deployment's run host and its HTTP API.   OpenWOP RFC 0072 §B */

import { basename } from "node:path";
import type { Problem } from "../../base/problem.ts";
import { traceOf } from "../../base/thrown.ts";
import type { HttpRoute } from "../../dispatch/module/http-route.ts";
import { createStreamRecorder } from "../../dispatch/stream-events.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import type { OpenwopContext } from "./config.ts";
import { findAgentMistakes, findKeyMistakes } from "./find-mistakes.ts";
import type { OpenwopAgents } from "./host-agents.ts";
import { ApiKeys } from "./http/api-keys.ts";
import type { ApiParts } from "./http/api-route.ts";
import { discoveryDocument } from "./http/discovery.ts";
import { openwopApi } from "./http/openwop-api.ts";
import { nodeTypes } from "./nodes/known-nodes.ts";
import { RunEscalations } from "./run-escalations.ts";
import { RunHost } from "./runs/run-host.ts";
import type { OpenwopState } from "./state.ts";
import { loadingWorkflows, type Workflows } from "./workflows/load-workflows.ts";

export interface HostedRuns {
  readonly host: RunHost;
  readonly escalations: RunEscalations;
  readonly workflows: Workflows;
  readonly isServing: boolean;
  readonly problems: readonly Problem[];
}

/** Creates the run host and the escalations of its waiting runs. */
export async function hostRuns(
  context: OpenwopContext,
  openwop: OpenwopAgents,
  kept: OpenwopState,
): Promise<HostedRuns> {
  const { config, compiler, state, log } = context;
  const { registry, catalog, executor, agtpIdOf } = openwop;
  const {
    tenant,
    conformance: isConformance,
    workflowsDir,
    apiKeys,
    runs,
    reasoning,
  } = config.openwop;
  const { value: redact } = openwop.redactor;
  const types = nodeTypes({
    ...{ executor, compiler, isConformance, effects: kept.effects },
    mockAgent: {
      reasoning,
      thresholdOf: (agentId, owner) => registry.find(agentId, owner)?.confidenceThreshold,
    },
  });
  const { workflows, problems } = await context.drive(
    loadingWorkflows({
      ...{ directory: config.directory, dir: workflowsDir, types, compiler },
      remarksOn: (definition) => findAgentMistakes(definition, registry, tenant),
    }),
  );
  const host = new RunHost({
    ...{ register: kept.register, workflows, types, catalog, compiler, redact, limits: runs },
    ...{ isConformance, logger: log, stopping: context.stopping.signal },
    tellsOfAgents: isConformance || registry.all.length > 0,
  });
  const escalations = new RunEscalations({
    ...{ host, escalations: state.escalations, agtpIdOf, ending: context.stopping.signal },
    ...{ policy: config.policies.identity, attributor: context.attributor },
    record: createStreamRecorder(context),
    onFault: exceptStoreFaults((error) => {
      const trace = redact(traceOf(error));
      log.warn({ trace }, "a run that waits could not be told to operators");
    }),
  });
  return {
    ...{ host, escalations, workflows },
    isServing: isConformance || registry.all.length > 0 || workflows.size > 0,
    problems: [...problems, ...findKeyMistakes(apiKeys, basename(config.file))],
  };
}

/** The HTTP API, served where the sidecar is. */
export function httpRoutes(
  { config, log, toll, state: { view } }: OpenwopContext,
  { executor, registry, catalog, redactor }: OpenwopAgents,
  state: OpenwopState,
  { host, workflows }: HostedRuns,
): readonly HttpRoute[] {
  const { openwop: settings } = config;
  const agentIds = new Set(registry.all.map(({ agentId }) => agentId));
  const discovery = discoveryDocument({ settings, agentIds, workflows });
  const parts: ApiParts = {
    ...{ host, catalog, executor, redact: redactor.value, settings, discovery, log, state, view },
    ...{ keys: new ApiKeys(settings.apiKeys), toll },
  };
  return openwopApi(parts, config.limits.bodyBytes).map((route) => ({ ...route, api: API }));
}

const API: HttpRoute["api"] = {
  name: "openwop",
  description: "OpenWOP: the agents of this server, and runs of them and of workflows.",
  documentation: "/v1/openapi.json",
};
