/** The discovery document: exactly the capabilities that this host has.   OpenWOP "capabilities" */
import type { JsonRecord } from "../../../base/json-value.ts";
import { VERSION } from "../../../base/version.ts";
import type { OpenwopConfig } from "../config.ts";
import { DRAIN_POLICIES, MAX_NODE_EXECUTIONS } from "../runs/run.ts";
import { EVENT_LOG_SCHEMA_VERSION } from "../runs/run-state.ts";
import type { Workflows } from "../workflows/load-workflows.ts";

interface DiscoveryFacts {
  readonly settings: Pick<
    OpenwopConfig,
    "conformance" | "installScope" | "runs" | "runtime" | "reasoning"
  >;
  /** Agents of the host or of any tenant. */
  readonly agentIds: ReadonlySet<string>;
  readonly workflows: Workflows;
}

const PROTOCOL_VERSION = "1.0";
/** The id prefix of the public suite's workflows. */
const FIXTURE = /^(?:conformance|openwop)-/;

/** Returns the document without the listener's limits. */
export function discoveryDocument(facts: DiscoveryFacts): JsonRecord {
  const { settings, agentIds } = facts;
  const { conformance: isConformance, runs: limits, runtime } = settings;
  const hasAgents = agentIds.size > 0;
  const fixtures = isConformance ? fixturesOf(facts) : [];
  return {
    protocolVersion: PROTOCOL_VERSION,
    supportedEnvelopes: [],
    schemaVersions: {},
    limits: {
      ...{ clarificationRounds: 0, schemaRounds: 1, envelopesPerTurn: 0 },
      ...{
        maxNodeExecutions: MAX_NODE_EXECUTIONS,
        maxRunDurationMs: limits.durationSeconds * 1000,
      },
      maxLoopIterations: limits.loopIterations,
    },
    implementation: { name: "agtpd", version: VERSION },
    eventLogSchemaVersion: EVENT_LOG_SCHEMA_VERSION,
    supportedTransports: ["rest"],
    runtimeCapabilities: [],
    runs: { pauseResume: { supported: true, drainPolicies: DRAIN_POLICIES } },
    replay: { ...{ supported: true, modes: ["replay", "branch"] }, ...SUPPRESSION },
    subWorkflow: { inputMapping: true },
    // The published limits are closed and have no member for these.
    extensions: { agtpd: { subWorkflow: { maxDepth: limits.depth, maxRuns: limits.children } } },
    idempotency: { crossRegion: "single-region" },
    ...(hasAgents || isConformance ? { agents: agentFamily(settings, hasAgents) } : {}),
    ...(hasAgents || isConformance
      ? { toolHooks: { ...TOOL_HOOKS, perToolRateLimit: runtime.toolCallsPerMinute > 0 } }
      : {}),
    ...(isConformance ? { conformance: { mockAgent: true } } : {}),
    ...(fixtures.length === 0 ? {} : { fixtures }),
  };
}

/** Effects are never repeated: a replay uses the recorded outcome, or fails. */
const SUPPRESSION = { sideEffectSuppression: "recorded-outcome" };

const TOOL_HOOKS = { supported: true, prePostEvents: true, perToolAuthorization: true };

function agentFamily(
  { installScope, reasoning, conformance: isConformance }: DiscoveryFacts["settings"],
  hasAgents: boolean,
): JsonRecord {
  const { verbosity, tokenLimit, streaming } = reasoning;
  return {
    supported: true,
    // The mock agent streams in any configuration.
    reasoning: { verbosity, tokenLimit, streaming: streaming || isConformance },
    // A host-wide inventory that is advertised must not be empty.
    ...(hasAgents || installScope === "tenant"
      ? { manifestRuntime: { supported: true, handoffValidation: true, installScope } }
      : {}),
  };
}

/** Lists the suite's workflows whose agents are all installed. */
function fixturesOf({ workflows, agentIds }: DiscoveryFacts): readonly string[] {
  return [...workflows.values()]
    .map(({ definition }) => definition)
    .filter(({ id, metadata, nodes }) => {
      const { requiresAgentId } = metadata;
      const pinned = nodes.flatMap(({ typeId, agent }) =>
        typeId === "core.agent" ? [agent?.agentId] : [],
      );
      const needed = [...pinned, ...(requiresAgentId === undefined ? [] : [requiresAgentId])];
      return FIXTURE.test(id) && needed.every((agentId) => agentIds.has(String(agentId)));
    })
    .map(({ id }) => id)
    .toSorted();
}
