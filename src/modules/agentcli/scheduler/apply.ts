/**
 * Applies a manifest to a scheduler: compile, ask what the scheduler can do, verify the proofs that it
 * cannot, look at its jobs, and write. A dry run does all of that but the last.
 * agentcli protocol "agentcli.apply"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { compileScheduler } from "../compile/scheduler.ts";
import { SCHEDULER_FIELDS } from "../compile/scheduler-fields.ts";
import type { SchedulerJob } from "../compile/scheduler-job.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import type { ProofReport } from "../governance/verify-proof.ts";
import { verifyProof } from "../governance/verify-proof.ts";
import { findTask } from "../identity/find-task.ts";
import type { Manifest } from "../manifest/manifest.ts";
import type { World } from "../world.ts";
import { type Capabilities, checkCapabilities, readCapabilities } from "./capabilities.ts";
import { SchedulerClient, type SchedulerLocation } from "./invocation.ts";
import { type JobAction, planActions } from "./job-actions.ts";
import { keptFields, type LostSafeguard, lostSafeguards, readJobColumns } from "./job-columns.ts";
import { writeJob } from "./write-jobs.ts";

/** Options of applying. */
export interface ApplyOptions {
  readonly location: SchedulerLocation;
  readonly isDryRun: boolean;
  readonly isExplained: boolean;
  readonly adoptBy: "id" | "name";
  /** True if a safeguard that the scheduler cannot keep is refused. */
  readonly isStrict: boolean;
  /** True if a proof's command may be run to get the proof. */
  readonly mayRunCommands: boolean;
}

/** The result of the protocol, or what is in the way. */
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
  const { fieldVersion } = capabilities;
  const columns = await readJobColumns(listed, options.location.dbPath, world.directory);
  const lost = lostSafeguards(compiled.jobs, columns);
  if (options.isStrict && lost.length > 0) return refuseLost(lost);
  const fields = [...SCHEDULER_FIELDS[fieldVersion], ...keptFields(columns)];
  for (const action of options.isDryRun ? [] : actions) {
    const failed = await writeJob(action, client, fields);
    // Jobs before this one are written: their number is part of what went wrong.
    if (failed !== undefined) return withProgress(failed, actions, action);
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
      field_version: fieldVersion,
      projected_fields: fields.length,
      v02_fields_included: fieldVersion !== "1",
    },
    job_count: compiled.jobs.length,
    actions: actions.map((action) => describeAction(action, proofs)),
    ...(proofs.size === 0 ? {} : { authorization_proof_verifications: [...proofs.values()] }),
    ...(lost.length === 0 ? {} : { warnings: lost.map(describeLost) }),
    ...(options.isExplained ? { explain: compiled.explain } : {}),
  };
}

type Proofs = ReadonlyMap<string, JsonRecord>;

/** By job id; only of required proofs, and only where the scheduler verifies none itself. */
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
    const verification = describeProof(report);
    reports.set(id, { source, authorization_proof_ref: report.ref, verification });
  }
  return reports;
}

function describeProof({ method, verified, reason }: ProofReport): JsonRecord {
  return { method, verified, reason };
}

function describeAction({ action, job, adopted }: JobAction, proofs: Proofs): JsonRecord {
  const verification = proofs.get(job.id)?.["verification"];
  return {
    action,
    job_id: job.id,
    ...(adopted === undefined ? {} : { adopted_from_job_id: adopted.id }),
    name: job.name,
    invocation_mode: job.parent_id === null ? "schedule" : "trigger",
    ...(verification === undefined ? {} : { authorization_proof_verification: verification }),
  };
}

/** One that nobody keeps must not look kept. */
function describeLost({ jobId, name, what }: LostSafeguard): JsonRecord {
  const message = `Job "${name}" declares ${what}, which this scheduler has no column for: it is dropped`;
  return { job_id: jobId, safeguard: what, message };
}

function refuseLost(lost: readonly LostSafeguard[]): Failure {
  const [{ name, what }] = lost as readonly [LostSafeguard];
  const message = `Job "${name}" declares ${what}, which this scheduler has no column for`;
  return failure("unsupported_capability", message, { details: lost.map(describeLost) });
}

function withProgress(failed: Failure, actions: readonly JobAction[], at: JobAction): Failure {
  const written = actions.slice(0, actions.indexOf(at));
  return {
    ...failed,
    details: { job_id: at.job.id, written: written.map(({ job }) => job.id) },
  };
}
