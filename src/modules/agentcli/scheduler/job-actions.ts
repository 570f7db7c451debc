/**
 * The action on each job: create it, update it, or adopt one that was made by hand under the
 * same name. Decided whole before anything is written.   agentcli protocol "agentcli.apply"
 */
import { isRecord } from "../../../base/json-value.ts";
import type { SchedulerJob } from "../compile/scheduler-job.ts";
import { type Failure, failure, invalidArgument } from "../failure.ts";

/** One job and what becomes of it. */
export interface JobAction {
  readonly action: "created" | "updated" | "adopted";
  readonly job: SchedulerJob;
  /** The id and origin of the job that is adopted. */
  readonly adopted?: { readonly id: string; readonly origin: string };
}

interface Existing {
  readonly id: string;
  readonly name: string;
  readonly origin: string;
}

/** Plans all jobs, or says why the existing ones cannot be matched. */
export function planActions(
  jobs: readonly SchedulerJob[],
  listed: readonly unknown[],
  adoptBy: "id" | "name",
): readonly JobAction[] | Failure {
  const existing = listed.flatMap(readExisting);
  const ids = new Set(existing.map(({ id }) => id));
  if (adoptBy === "id") {
    return jobs.map((job) => ({ action: ids.has(job.id) ? "updated" : "created", job }));
  }
  const names = jobs.map(({ name }) => name);
  const repeated = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  if (repeated.length > 0) {
    const which = repeated.join(", ");
    return invalidArgument(
      `Cannot use --adopt-by name when compiled job names are not unique: ${which}`,
    );
  }
  const actions: JobAction[] = [];
  for (const job of jobs) {
    const action = matchByName(job, existing, ids);
    if ("kind" in action) return action;
    actions.push(action);
  }
  return actions;
}

function matchByName(
  job: SchedulerJob,
  existing: readonly Existing[],
  ids: ReadonlySet<string>,
): JobAction | Failure {
  if (ids.has(job.id)) return { action: "updated", job };
  const [same, ...others] = existing.filter(({ name }) => name === job.name);
  if (others.length > 0) {
    return failure(
      "invalid_argument",
      `Cannot use --adopt-by name because existing scheduler jobs have duplicate names: ${job.name}`,
    );
  }
  if (same === undefined) return { action: "created", job };
  return { action: "adopted", job, adopted: same };
}

function readExisting(value: unknown): readonly Existing[] {
  if (!isRecord(value)) return [];
  const { id, name, origin } = value;
  if (typeof id !== "string") return [];
  return [
    {
      id,
      name: typeof name === "string" ? name : "",
      origin: typeof origin === "string" ? origin : "system",
    },
  ];
}
