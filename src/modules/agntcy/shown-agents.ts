/**
 * Views of AGNTCY agents: their identity documents, marked with the path that EXECUTE calls by name or the reason that
 * none does; their health; and a caller's own runs for QUERY.   AGTP-API §5.8.2, AGTP "QUERY"
 */

import { isOwnMatter } from "../../dispatch/caller/own-matter.ts";
import type { UpstreamAgent } from "../../dispatch/module/module.ts";
import type { QueryEntry, QuerySource } from "../../dispatch/module/query-source.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { ConnectedAgent } from "./connect-agents.ts";
import type { AgentRuns } from "./runs/agent-runs.ts";
import type { AgentRun } from "./runs/run.ts";

interface IdentifiedAgent {
  readonly agent: ConnectedAgent;
  readonly document: AgentDocument;
}

/** Marks the agents' documents, whether the operator or this server wrote them. */
export function markDocuments(
  documents: readonly AgentDocument[],
  agents: readonly IdentifiedAgent[],
): readonly AgentDocument[] {
  return documents.map((document) => {
    const own = agents.filter((one) => one.document === document).map(({ agent }) => agent);
    const callable = own.find(({ remote }) => remote !== undefined);
    if (callable !== undefined) {
      return { ...document, executePath: callable.declared.settings.base };
    }
    const [reason] = own.flatMap(({ declared: { choice } }) =>
      choice.kind === "declared" ? [choice.reason] : [],
    );
    return reason === undefined ? document : { ...document, notCallable: reason };
  });
}

/** The health of an agent for operators, as far as known. */
export function upstreamView(agent: ConnectedAgent): UpstreamAgent {
  const { manifest, settings, upstream } = agent.declared;
  const reason = whyOf(agent);
  return {
    ...{ name: manifest.name, version: manifest.version, base: settings.base },
    url: upstream === undefined ? null : upstream.address.origin + upstream.address.basePath,
    state: stateOf(agent),
    ...(reason === undefined ? {} : { reason }),
    dependencies: agent.dependencies().map(({ name, status, reason: why }) => {
      return { name, status, ...(why === undefined ? {} : { reason: why }) };
    }),
  };
}

function stateOf({ readiness }: ConnectedAgent): UpstreamAgent["state"] {
  if (readiness === undefined) return "declared";
  if (readiness.isReady) return "ready";
  return readiness.fault === undefined ? "unchecked" : "unavailable";
}

function whyOf({ declared: { choice }, readiness }: ConnectedAgent): string | undefined {
  return readiness === undefined && choice.kind === "declared" ? choice.reason : readiness?.fault;
}

/** The maximum number of runs that one query searches. */
const MAX_ENTRIES = 500;

/** The query source "agntcy-runs". */
export function agentRunSource(register: Pick<AgentRuns, "newestOf">): QuerySource {
  return {
    name: "agntcy-runs",
    entries: async (asker) => {
      const { agentId } = asker.caller;
      if (agentId === undefined) return [];
      const own = register.newestOf(agentId).filter((run) => isOwnMatter(run, asker));
      return own.slice(0, MAX_ENTRIES).map(entryOf);
    },
  };
}

function entryOf({
  runId,
  base,
  status,
  interrupt,
  error,
  startedAt,
  updatedAt,
}: AgentRun): QueryEntry {
  return {
    id: runId,
    texts: [`run ${base.slice(1)} ${status}`, interrupt?.type ?? "", error?.message ?? ""],
    content: {
      run_id: runId,
      path: `${base}/runs/${runId}`,
      status,
      ...(interrupt === undefined ? {} : { interrupt_type: interrupt.type }),
      ...(error === undefined ? {} : { code: error.code }),
      created_at: new Date(startedAt).toISOString(),
      updated_at: new Date(updatedAt).toISOString(),
    },
  };
}
