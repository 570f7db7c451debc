/** Runs of AGNTCY agents for QUERY: a caller's own.   AGTP "QUERY" */
import type { QueryEntry, QuerySource } from "../../../dispatch/module/query-source.ts";
import type { AgentRuns } from "./agent-runs.ts";
import type { AgentRun } from "./run.ts";

/** As many as one query looks through. */
const MAX_ENTRIES = 500;

/** The source called "agntcy-runs". */
export function agentRunSource(register: Pick<AgentRuns, "ofOwner">): QuerySource {
  return {
    name: "agntcy-runs",
    entries: async ({ caller: { agentId } }) =>
      agentId === undefined ? [] : register.ofOwner(agentId).slice(0, MAX_ENTRIES).map(entryOf),
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
