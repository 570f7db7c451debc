/**
 * Writes jobs into a scheduler, one command each. Adopting makes the job under its stable id before
 * the old one is deleted, and takes it back where that fails.   agentcli protocol "agentcli.apply"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { SchedulerJob } from "../compile/scheduler-job.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import type { SchedulerClient } from "./invocation.ts";
import type { JobAction } from "./job-actions.ts";

/** Writes the fields of one job that the scheduler has; undefined when it is done. */
export async function writeJob(
  { action, job, adopted }: JobAction,
  client: Pick<SchedulerClient, "addJob" | "updateJob" | "deleteJob">,
  fields: readonly string[],
): Promise<Failure | undefined> {
  if (action === "updated")
    return failureOf(await client.updateJob(job.id, updateSpec(job, fields)));
  const origin = adopted === undefined ? {} : { origin: adopted.origin };
  const made = failureOf(await client.addJob({ ...createSpec(job, fields), ...origin }));
  if (made !== undefined || adopted === undefined) return made;
  const deleted = failureOf(await client.deleteJob(adopted.id));
  if (deleted === undefined) return undefined;
  const undone = failureOf(await client.deleteJob(job.id));
  const state =
    undone === undefined
      ? "the created stable row was rolled back"
      : "rollback delete also failed. Manual cleanup may be required";
  return failure(
    "scheduler_error",
    `Failed to adopt legacy row "${adopted.id}" to stable id "${job.id}": ${deleted.message}; ${state}.`,
  );
}

/** The parts that a new job is made of; what is null is left to the scheduler. */
function createSpec(job: SchedulerJob, fields: readonly string[]): JsonRecord {
  return Object.fromEntries(project(job, fields).filter(([, value]) => value !== null));
}

/** The new values of a job; null takes away. */
function updateSpec(job: SchedulerJob, fields: readonly string[]): JsonRecord {
  const changing = fields.filter((name) => name !== "id" && name !== "origin");
  return Object.fromEntries(project(job, changing));
}

function project(
  job: SchedulerJob,
  fields: readonly string[],
): readonly (readonly [string, unknown])[] {
  return fields.map((name) => {
    const value = job[name] ?? null;
    if (name === "enabled") return [name, value === 1];
    return [name, isRecord(value) ? JSON.stringify(value) : value];
  });
}

function failureOf(answer: unknown): Failure | undefined {
  return isFailure(answer) ? answer : undefined;
}
