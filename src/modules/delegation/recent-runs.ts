/**
 * The recent executions and delegations of each agent of this server, which QUERY finds for their caller. They are in
 * memory, since the journal has them too, and bounded: the oldest are evicted first.   AGTP "QUERY"
 */

import { given } from "../../base/json-value.ts";
import { isOwnMatter } from "../../dispatch/caller/own-matter.ts";
import type { QueryEntry, QuerySource } from "../../dispatch/module/query-source.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { Collection } from "../../state/collection.ts";
import { createMemoryStore } from "../../state/memory-store.ts";
import { recordReader } from "../../state/records/stored-record.ts";

type RunState = "running" | "completed" | "refused" | "failed";

interface RecentRun {
  readonly runId: string;
  readonly agentId: string;
  /** The principal of the request's token. */
  readonly principalId?: string;
  readonly kind: "execute" | "delegate";
  /** As the caller named it. */
  readonly action: string;
  /** The agent that the task was delegated to. */
  readonly target?: string;
  readonly taskId?: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly state: RunState;
  readonly status?: number;
  /** `error.code` of a refusal. */
  readonly code?: string;
}

/** The facts that are known when a run begins. */
export interface RunStart extends Pick<RecentRun, "kind" | "action"> {
  readonly target?: string | undefined;
  readonly taskId?: string | undefined;
  readonly principalId?: string | undefined;
  /** The id, if the run already has one. */
  readonly runId?: string;
}

export interface RunEnd {
  readonly state: Exclude<RunState, "running">;
  readonly status: number;
  readonly code: string | undefined;
}

export class RecentRuns {
  readonly #runs: Collection<RecentRun>;

  private constructor(runs: Collection<RecentRun>) {
    this.#runs = runs;
  }

  /** Opens an empty register. */
  static async open(): Promise<RecentRuns> {
    const runs = await Collection.open(createMemoryStore(), {
      name: "recent-runs",
      read: recordReader<RecentRun>({ runId: "string", agentId: "string", state: "string" }),
      ownerOf: ({ agentId }) => agentId,
      // The oldest is evicted first, even if it has not ended.
      quota: { perOwner: 100, all: 20_000 },
    });
    return new RecentRuns(runs);
  }

  /** Records a run and returns its id; without `agentId` nothing is recorded. */
  async begin(agentId: string | undefined, { runId, ...facts }: RunStart): Promise<string> {
    const id = runId ?? uuidv7();
    if (agentId === undefined) return id;
    const { kind, action, target, taskId, principalId } = facts;
    const run: RecentRun = {
      ...{ runId: id, agentId, kind, action, startedAt: Date.now(), state: "running" },
      ...given({ target, taskId, principalId }),
    };
    await this.#runs.add(id, run);
    return id;
  }

  /** Records the end of a run; an evicted one stays evicted. */
  async end(runId: string, { state, status, code }: RunEnd): Promise<void> {
    const end = { state, status, endedAt: Date.now(), ...(code === undefined ? {} : { code }) };
    await this.#runs.change(runId, (run) => ({ ...run, ...end }));
  }

  /** An agent's own runs, newest first. */
  of(agentId: string): readonly RecentRun[] {
    return this.#runs.ofOwner(agentId).toReversed();
  }
}

/** The QUERY source of runs. */
export function runSource(runs: Pick<RecentRuns, "of">): QuerySource {
  return {
    name: "run",
    entries: async (asker) => {
      const { document } = asker.caller;
      const own = document === undefined ? [] : runs.of(document.agentId);
      return own.filter((run) => isOwnMatter(run, asker)).map(entryOf);
    },
  };
}

function entryOf(run: RecentRun): QueryEntry {
  const { runId, kind, action, target, taskId, state, status, code } = run;
  const texts = [action, target, kind, state, code, taskId].filter((text) => text !== undefined);
  return {
    id: runId,
    texts,
    content: {
      ...{ run_id: runId, kind, action },
      ...given({ target_agent_id: target, task_id: taskId }),
      ...{ state, ...given({ status, code }) },
      started_at: timestamp(run.startedAt),
      ...given({ ended_at: run.endedAt && timestamp(run.endedAt) }),
    },
  };
}

function timestamp(at: number): string {
  return new Date(at).toISOString();
}
