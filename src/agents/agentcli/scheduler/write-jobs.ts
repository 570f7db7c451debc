/**
 * Writes jobs into a scheduler, one command each. Adopting makes the job under its stable id before
 * the old one is deleted, and takes it back where that fails.   agentcli protocol "agentcli.apply"
 */
import { isRecord, type JsonRecord } from "../../../json-value.ts";
import { type FieldVersion, SCHEDULER_FIELDS } from "../compile/scheduler-fields.ts";
import type { SchedulerJob } from "../compile/scheduler-job.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import type { SchedulerClient } from "./invocation.ts";
import type { JobAction } from "./job-actions.ts";

/** Writes one job; undefined when it is done. */
export async function writeJob(
  { action, job, adopted }: JobAction,
  client: Pick<SchedulerClient, "addJob" | "updateJob" | "deleteJob">,
  version: FieldVersion,
): Promise<Failure | undefined> {
  if (action === "updated")
    return failureOf(await client.updateJob(job.id, updateSpec(job, version)));
  const origin = adopted === undefined ? {} : { origin: adopted.origin };
  const made = failureOf(await client.addJob({ ...createSpec(job, version), ...origin }));
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

/** What a new job is made of; what is null is left to the scheduler. */
function createSpec(job: SchedulerJob, version: FieldVersion): JsonRecord {
  const fields = SCHEDULER_FIELDS[version];
  return Object.fromEntries(project(job, fields).filter(([, value]) => value !== null));
}

/** What a job is changed to; null takes away. */
function updateSpec(job: SchedulerJob, version: FieldVersion): JsonRecord {
  const fields = SCHEDULER_FIELDS[version].filter((name) => name !== "id" && name !== "origin");
  return Object.fromEntries(project(job, fields));
}

function project(
  job: SchedulerJob,
  fields: readonly string[],
): readonly (readonly [string, unknown])[] {
  return fields
    .filter((name) => job[name] !== undefined)
    .map((name) => {
      const value = job[name];
      if (name === "enabled") return [name, value === 1];
      return [name, isRecord(value) ? JSON.stringify(value) : value];
    });
}

function failureOf(answer: unknown): Failure | undefined {
  return isFailure(answer) ? answer : undefined;
}
