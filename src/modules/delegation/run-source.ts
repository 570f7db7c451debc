/** Runs as QUERY finds them: the caller's own.   AGTP "QUERY" */
import type { QueryEntry, QuerySource } from "../../dispatch/module/query-source.ts";
import type { RecentRun, RecentRuns } from "./recent-runs.ts";

/** The source of runs. */
export function runSource(runs: Pick<RecentRuns, "of">): QuerySource {
  return {
    name: "run",
    entries: async ({ caller: { document } }) =>
      document === undefined ? [] : runs.of(document.agentId).map(entryOf),
  };
}

function entryOf(run: RecentRun): QueryEntry {
  const { runId, kind, action, target, taskId, state, status, code } = run;
  const texts = [action, target, kind, state, code, taskId].filter((text) => text !== undefined);
  return {
    id: runId,
    texts,
    content: {
      run_id: runId,
      kind,
      action,
      ...(target === undefined ? {} : { target_agent_id: target }),
      ...(taskId === undefined ? {} : { task_id: taskId }),
      state,
      ...(status === undefined ? {} : { status }),
      ...(code === undefined ? {} : { code }),
      started_at: timestamp(run.startedAt),
      ...(run.endedAt === undefined ? {} : { ended_at: timestamp(run.endedAt) }),
    },
  };
}

function timestamp(at: number): string {
  return new Date(at).toISOString();
}
