/** An agent's own runs, as QUERY finds them.   AGTP "QUERY" */
import type { QuerySource } from "../../dispatch/query-source.ts";
import type { RunHost } from "./runs/run-host.ts";

const MOST = 100;

/** The source; who has no Agent-ID has no runs. */
export function runSource(host: RunHost, tenant: string): QuerySource {
  return {
    name: "openwop-run",
    entries: async ({ caller: { agentId } }) => {
      if (agentId === undefined) return [];
      const owner = { tenant, principal: `agtp:${agentId}`, scopes: [] };
      return host
        .list({ owner, sees: "own" })
        .slice(0, MOST)
        .map((entry) => {
          const { runId, workflowId, status, createdAt } = entry;
          const content = {
            runId,
            workflowId,
            status,
            createdAt: new Date(createdAt).toISOString(),
          };
          return { id: runId, texts: [`run of ${workflowId}`, status, runId], content };
        });
    },
  };
}
