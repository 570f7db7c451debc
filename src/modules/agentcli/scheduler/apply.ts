/**
 * Applies a manifest to a scheduler: compiles, negotiates capabilities, verifies the proofs that the scheduler cannot,
 * compares with its jobs, and writes. A dry run stops before writing.   agentcli protocol "agentcli.apply"
 */
import { given, isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { SchedulerJob } from "../compile/scheduler-job.ts";
import { compileScheduler } from "../compile/targets.ts";
import { type Failure, failure, invalidArgument, isFailure } from "../failure.ts";
import { verifyProof } from "../governance/proof.ts";
import { findTask } from "../identity/find-task.ts";
import type { Manifest } from "../manifest/manifest.ts";
import type { World } from "../world.ts";
import {
  type Capabilities,
  checkCapabilities,
  fieldsFor,
  type LostSafeguard,
  lostSafeguards,
  readCapabilities,
  readJobColumns,
} from "./capabilities.ts";
import { SchedulerClient, type SchedulerLocation } from "./invocation.ts";

interface ApplyOptions {
  readonly location: SchedulerLocation;
  readonly isDryRun: boolean;
  readonly isExplained: boolean;
  readonly adoptBy: "id" | "name";
  /** True to refuse a manifest whose safeguards the scheduler cannot store. */
  readonly isStrict: boolean;
  /** True if proof commands may be run. */
  readonly mayRunCommands: boolean;
}

/** Returns the protocol's result, or the failure. */
export async function applyManifest(
  manifest: Manifest,
  options: ApplyOptions,
  world: World,
): Promise<JsonRecord | Failure> {
  const compiled = compileScheduler(manifest);
  if (isFailure(compiled)) return compiled;
  const client = new SchedulerClient(options.location, world);
  const capabilities = readCapabilities(await client.capabilities());
  const unsupported = checkCapabilities(compiled.jobs, capabilities);
  if (unsupported !== undefined) return unsupported;
  const proofs = await verifyLocally(manifest, compiled.jobs, capabilities, options, world);
  if (isFailure(proofs)) return proofs;
  const listed = await client.listJobs();
  if (isFailure(listed)) return listed;
  const actions = planActions(compiled.jobs, listed, options.adoptBy);
  if (isFailure(actions)) return actions;
  const columns = await readJobColumns(listed, options.location.dbPath, world.directory);
  const fields = fieldsFor(capabilities, columns);
  const lost = lostSafeguards(compiled.jobs, fields);
  if (options.isStrict && lost.length > 0) return refuseLost(lost);
  const writes = parentsFirst(actions).map((action) => writeOf(action, fields));
  const large = writes.find(({ spec }) => Buffer.byteLength(spec) > MAX_SPEC_BYTES);
  if (large !== undefined) return refuseLarge(large);
  const untaken = await findUntaken(writes, fields, client);
  if (untaken !== undefined) return untaken;
  for (const write of options.isDryRun ? [] : writes) {
    const failed = await writeJob(write, client);
    // Earlier jobs are already written, which the failure must report.
    if (failed !== undefined) return withProgress(failed, writes, write);
  }
  return {
    ok: true,
    target: "openclaw-scheduler",
    dry_run: options.isDryRun,
    scheduler: { command: client.label, db_path: options.location.dbPath ?? null },
    capabilities: {
      source: capabilities.source,
      negotiated: capabilities.negotiated,
      handoff_version: capabilities.handoffVersion,
    },
    handoff: {
      field_version: capabilities.fieldVersion,
      projected_fields: fields.length,
      v02_fields_included: capabilities.fieldVersion !== "1",
    },
    job_count: compiled.jobs.length,
    actions: actions.map((action) => describeAction(action, proofs)),
    ...(proofs.size === 0 ? {} : { authorization_proof_verifications: [...proofs.values()] }),
    ...(lost.length === 0 ? {} : { warnings: lost.map(describeLost) }),
    ...(options.isExplained ? { explain: compiled.explain } : {}),
  };
}

type Proofs = ReadonlyMap<string, JsonRecord>;

/** Verifies required proofs, unless the scheduler verifies them itself; reports by job id. */
async function verifyLocally(
  manifest: Manifest,
  jobs: readonly SchedulerJob[],
  { features }: Capabilities,
  { mayRunCommands }: ApplyOptions,
  world: World,
): Promise<Proofs | Failure> {
  const reports = new Map<string, JsonRecord>();
  if (features.has("authorization_proof_verification")) return reports;
  for (const { id, source } of jobs) {
    const found = findTask(manifest, source.task_id, source.workflow_id);
    if (isFailure(found)) return found;
    const report = await verifyProof(found, world, mayRunCommands);
    if (isFailure(report)) return report;
    if (report?.required !== true) continue;
    const { method, verified, reason } = report;
    const verification = { method, verified, reason };
    reports.set(id, { source, authorization_proof_ref: report.ref, verification });
  }
  return reports;
}

function describeAction({ action, job, adopted }: JobAction, proofs: Proofs): JsonRecord {
  const verification = proofs.get(job.id)?.["verification"];
  return {
    action,
    job_id: job.id,
    ...(adopted === undefined ? {} : { adopted_from_job_id: adopted.id }),
    name: job.name,
    invocation_mode: job.parent_id === null ? "schedule" : "trigger",
    ...given({ authorization_proof_verification: verification }),
  };
}

/** Warns of a dropped safeguard, which must not seem to be in force. */
function describeLost({ jobId, name, what }: LostSafeguard): JsonRecord {
  const message = `Job "${name}" declares ${what}, which this scheduler has no column for: it is dropped`;
  return { job_id: jobId, safeguard: what, message };
}

function refuseLost(lost: readonly LostSafeguard[]): Failure {
  const [{ name, what }] = lost as readonly [LostSafeguard];
  const message = `Job "${name}" declares ${what}, which this scheduler has no column for`;
  return failure("unsupported_capability", message, { details: lost.map(describeLost) });
}

function withProgress(failed: Failure, writes: readonly JobWrite[], at: JobWrite): Failure {
  const written = writes.slice(0, writes.indexOf(at)).map(({ job }) => job.id);
  return { ...failed, details: { job_id: at.job.id, written } };
}

/** Linux's maximum of one argument, without the terminator. */
const MAX_SPEC_BYTES = 131_071;

/** Refused before the first write, so that a manifest is not applied in part. */
function refuseLarge({ job }: JobWrite): Failure {
  const message = `Job "${job.name}" cannot be handed over: its arguments are longer than a command line may be`;
  return failure("scheduler_error", message, { details: { job_id: job.id, written: [] } });
}

/**
 * Finds jobs that the scheduler would refuse, before the first write: only it can judge cron lines and time zones. An
 * update is judged as the new job that it results in.
 */
async function findUntaken(
  writes: readonly JobWrite[],
  fields: readonly string[],
  client: Pick<SchedulerClient, "refusalOf">,
): Promise<Failure | undefined> {
  const refused: { readonly job: SchedulerJob; readonly refusal: Failure }[] = [];
  for (const { job } of writes) {
    const refusal = await client.refusalOf(JSON.stringify(createSpec(job, fields)));
    if (refusal !== undefined) refused.push({ job, refusal });
  }
  const [first] = refused;
  if (first === undefined) return undefined;
  const { message } = first.refusal;
  const jobs = refused.map((one) => ({ job_id: one.job.id, message: one.refusal.message }));
  const details = { job_id: first.job.id, written: [], refused: jobs };
  return failure("scheduler_error", `Job "${first.job.name}" is refused: ${message}`, { details });
}

/** Sorts parents first: the scheduler refuses a job whose parent it does not have. */
function parentsFirst(actions: readonly JobAction[]): readonly JobAction[] {
  const jobs = new Map(actions.map(({ job }) => [job.id, job]));
  // The recursion is bounded by the maximum chain of compilation.
  const depthOf = ({ parent_id: id }: SchedulerJob): number => {
    const parent = id === null ? undefined : jobs.get(id);
    return parent === undefined ? 0 : 1 + depthOf(parent);
  };
  return actions.toSorted((one, other) => depthOf(one.job) - depthOf(other.job));
}

/** An action with its job's supported fields as JSON. */
interface JobWrite extends JobAction {
  readonly spec: string;
}

function writeOf(action: JobAction, fields: readonly string[]): JobWrite {
  const { job, adopted } = action;
  const origin = adopted === undefined ? {} : { origin: adopted.origin };
  const spec =
    action.action === "updated"
      ? updateSpec(job, fields)
      : { ...createSpec(job, fields), ...origin };
  return { ...action, spec: JSON.stringify(spec) };
}

/** Writes one job; undefined on success. */
async function writeJob(
  { action, job, adopted, spec }: JobWrite,
  client: Pick<SchedulerClient, "addJob" | "updateJob" | "deleteJob">,
): Promise<Failure | undefined> {
  if (action === "updated") return failureOf(await client.updateJob(job.id, spec));
  const made = failureOf(await client.addJob(spec));
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

/** The fields of a new job; null ones are left to the scheduler's defaults. */
function createSpec(job: SchedulerJob, fields: readonly string[]): JsonRecord {
  return Object.fromEntries(project(job, fields).filter(([, value]) => value !== null));
}

/** The new values of a job; null clears a field. */
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

interface JobAction {
  readonly action: "created" | "updated" | "adopted";
  readonly job: SchedulerJob;
  readonly adopted?: { readonly id: string; readonly origin: string };
}

interface Existing {
  readonly id: string;
  readonly name: string;
  readonly origin: string;
}

/** Plans all writes in advance, or fails if existing jobs cannot be matched. */
function planActions(
  jobs: readonly SchedulerJob[],
  listed: readonly unknown[],
  adoptBy: "id" | "name",
): readonly JobAction[] | Failure {
  const existing = listed.flatMap(readExisting);
  const ids = new Set(existing.map(({ id }) => id));
  const isByName = adoptBy === "name";
  const fault = isByName ? findAmbiguous(jobs, existing, ids) : undefined;
  if (fault !== undefined) return invalidArgument(`Cannot use --adopt-by name ${fault}`);
  const byName = new Map(isByName ? existing.map((one) => [one.name, one]) : []);
  return jobs.map((job): JobAction => {
    if (ids.has(job.id)) return { action: "updated", job };
    const adopted = byName.get(job.name);
    return adopted === undefined ? { action: "created", job } : { action: "adopted", job, adopted };
  });
}

/** The reason that names do not identify jobs uniquely. */
function findAmbiguous(
  jobs: readonly SchedulerJob[],
  existing: readonly Existing[],
  ids: ReadonlySet<string>,
): string | undefined {
  const repeated = repeatedNames(jobs);
  if (repeated.size > 0) {
    return `when compiled job names are not unique: ${[...repeated].join(", ")}`;
  }
  const doubled = repeatedNames(existing);
  const job = jobs.find(({ id, name }) => !ids.has(id) && doubled.has(name));
  return job && `because existing scheduler jobs have duplicate names: ${job.name}`;
}

function repeatedNames(named: readonly Pick<Existing, "name">[]): ReadonlySet<string> {
  const once = new Set<string>();
  const more = new Set<string>();
  for (const { name } of named) (once.has(name) ? more : once).add(name);
  return more;
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
