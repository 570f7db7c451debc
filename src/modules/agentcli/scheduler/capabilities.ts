/**
 * The capabilities of the scheduler, as it says itself, or else as is known of any, and the columns of
 * its table: a field that it has no column for would be dropped without a word. Nothing is handed over
 * that would not be enforced or kept.   agentcli spec "Capabilities", "openclaw-scheduler"
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import {
  type FieldVersion,
  SCHEDULER_FIELDS,
  type SchedulerJob,
} from "../compile/scheduler-job.ts";
import { type Failure, failure } from "../failure.ts";

type Feature =
  | "authorization_hook"
  | "authorization_proof_verification"
  | "trust_evaluation"
  | "evidence_generation"
  | "credential_handoff";

/** The outcome of the negotiation. */
export interface Capabilities {
  readonly source: "static" | "runtime";
  readonly negotiated: boolean;
  readonly handoffVersion: string | null;
  readonly fieldVersion: FieldVersion;
  readonly features: ReadonlySet<string>;
}

/** Reads the scheduler's own answer; what is none leaves the least that can be assumed. */
export function readCapabilities(answer: unknown): Capabilities {
  if (!isRecord(answer) || !isRecord(answer["features"])) {
    return {
      source: "static",
      negotiated: false,
      handoffVersion: null,
      fieldVersion: "1",
      features: new Set(),
    };
  }
  const version = answer["handoff_version"];
  const handoffVersion =
    typeof version === "string" || typeof version === "number" ? String(version) : null;
  const on = Object.entries(answer["features"]).filter(([, value]) => value === true);
  return {
    source: "runtime",
    negotiated: true,
    handoffVersion,
    // Later handoffs take what the second one brought.
    fieldVersion: Number(handoffVersion) >= 2 ? "2" : "1",
    features: new Set(on.map(([name]) => name)),
  };
}

const NEEDS: readonly (readonly [Feature, string, (job: SchedulerJob) => boolean])[] = [
  ["authorization_hook", "declares authorization", (job) => job["authorization"] !== null],
  [
    "trust_evaluation",
    "requires a trust level",
    (job) => job["contract_required_trust_level"] !== null,
  ],
  ["evidence_generation", "declares evidence", (job) => job["evidence"] !== null],
  ["credential_handoff", "declares a credential handoff", (job) => handsOff(job["identity"])],
];

/** The first thing that a job needs and the scheduler does not have. */
export function checkCapabilities(
  jobs: readonly SchedulerJob[],
  { features }: Capabilities,
): Failure | undefined {
  const missing = jobs.flatMap((job) =>
    NEEDS.filter(([feature, , needs]) => needs(job) && !features.has(feature)).map(
      ([feature, what]) => ({ feature, job_id: job.id, job: job.name, what }),
    ),
  );
  const [first] = missing;
  if (first === undefined) return undefined;
  const message = `Job "${first.job}" ${first.what} but the scheduler does not support ${first.feature}`;
  const details = missing.map(({ feature, job_id }): JsonRecord => ({ feature, job_id }));
  return failure("unsupported_capability", message, { details });
}

function handsOff(identity: unknown): boolean {
  const presentation = isRecord(identity) ? identity["presentation"] : undefined;
  const handoff = isRecord(presentation) ? presentation["handoff"] : undefined;
  return typeof handoff === "string" && handoff !== "none";
}

/** The manifest's name of what a job declares, and the fields that hold it. */
type Held = readonly [what: string, fields: readonly string[]];

/** Known to later schedulers than the field versions are of, if they have the columns. */
const LATER: readonly Held[] = [
  ["verify", ["verify_shell", "verify_timeout_s", "verify_on_failure"]],
  ["approval.approver_scope", ["approval_approver_scope"]],
  ["approval.risk_level", ["approval_risk_level"]],
  ["auth_profile", ["auth_profile"]],
];

/** A hint on how to read what a job puts out: no harm comes of its loss. */
const HINT = "output_format";

/** Of the second version, and not asked about as a feature. */
const SECOND: readonly Held[] = [
  ["identity", ["identity_principal", "identity_run_as", "identity_attestation", "identity"]],
  [
    "contract",
    ["sandbox", "allowed_paths", "network", "max_cost_usd", "audit"].map((n) => `contract_${n}`),
  ],
  ["child_credential_policy", ["child_credential_policy"]],
];

/** A declaration that a job would lose. */
export interface LostSafeguard {
  readonly jobId: string;
  readonly name: string;
  readonly what: string;
}

/** The columns of a scheduler's jobs, as far as they can be known; empty: none is known. */
export async function readJobColumns(
  listed: readonly unknown[],
  dbPath: string | undefined,
  directory: string,
): Promise<ReadonlySet<string>> {
  const [row] = listed.filter(isRecord);
  if (row !== undefined) return new Set(Object.keys(row));
  const file = dbPath === undefined ? undefined : resolve(directory, dbPath);
  return file === undefined || !existsSync(file) ? new Set() : readTable(file);
}

/** The fields that a scheduler is sent: those of its version, and later ones that it has columns for. */
export function fieldsFor(
  { fieldVersion }: Pick<Capabilities, "fieldVersion">,
  columns: ReadonlySet<string>,
): readonly string[] {
  const later = [...LATER.map(([, fields]) => fields), [HINT]];
  const kept = later.filter((fields) => fields.every((field) => columns.has(field)));
  return [...SCHEDULER_FIELDS[fieldVersion], ...kept.flat()];
}

/** The declarations of jobs that are not among the fields that are sent. */
export function lostSafeguards(
  jobs: readonly SchedulerJob[],
  sent: readonly string[],
): readonly LostSafeguard[] {
  const lost = [...LATER, ...SECOND].filter(([, fields]) => !fields.every((f) => sent.includes(f)));
  return jobs.flatMap((job) =>
    lost
      .filter(([, fields]) => fields.some((field) => (job[field] ?? null) !== null))
      .map(([what]) => ({ jobId: job.id, name: job.name, what })),
  );
}

async function readTable(file: string): Promise<ReadonlySet<string>> {
  try {
    const rows = await readDatabase(file, "SELECT name FROM pragma_table_info('jobs')");
    return new Set(rows.map(({ name }) => String(name)));
  } catch {
    // A file that is no database yet has no columns that anybody can count on.
    return new Set();
  }
}

/** The rows of a query to a scheduler's database, which is not written to. Rejects as SQLite does. */
export async function readDatabase(
  file: string,
  query: string,
  ...values: readonly unknown[]
): Promise<readonly JsonRecord[]> {
  const { default: Database } = await import("libsql");
  const database = new Database(file, { timeout: 5_000 });
  try {
    database.exec("PRAGMA query_only = ON");
    return database.prepare(query).all(...values) as readonly JsonRecord[];
  } finally {
    database.close();
  }
}
