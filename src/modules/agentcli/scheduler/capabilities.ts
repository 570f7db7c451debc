/**
 * The capabilities of a scheduler, as it reports them or else the known minimum, and the columns of its table: fields
 * without a column would be dropped silently. Only fields that it enforces and stores are sent.   agentcli spec
 * "Capabilities", "openclaw-scheduler"
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

/** Reads the scheduler's answer; an invalid one gives the minimum. */
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
    // Later versions include the fields of version 2.
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

/** Fails with the first capability that a job needs and the scheduler lacks. */
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

/** A declaration's name in the manifest, and its fields. */
type Held = readonly [what: string, fields: readonly string[]];

/** Fields of later schedulers, used if their columns exist. */
const LATER: readonly Held[] = [
  ["verify", ["verify_shell", "verify_timeout_s", "verify_on_failure"]],
  ["approval.approver_scope", ["approval_approver_scope"]],
  ["approval.risk_level", ["approval_risk_level"]],
  ["auth_profile", ["auth_profile"]],
];

/** Only a reading hint, so dropping it is harmless. */
const HINT = "output_format";

/** Fields of version 2 that no capability covers. */
const SECOND: readonly Held[] = [
  ["identity", ["identity_principal", "identity_run_as", "identity_attestation", "identity"]],
  [
    "contract",
    ["sandbox", "allowed_paths", "network", "max_cost_usd", "audit"].map((n) => `contract_${n}`),
  ],
  ["child_credential_policy", ["child_credential_policy"]],
];

/** A declared safeguard that a job would lose. */
export interface LostSafeguard {
  readonly jobId: string;
  readonly name: string;
  readonly what: string;
}

/** The columns of a scheduler's jobs; empty if unknown. */
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

/** The fields to send: those of the version, and later ones with columns. */
export function fieldsFor(
  { fieldVersion }: Pick<Capabilities, "fieldVersion">,
  columns: ReadonlySet<string>,
): readonly string[] {
  const later = [...LATER.map(([, fields]) => fields), [HINT]];
  const kept = later.filter((fields) => fields.every((field) => columns.has(field)));
  return [...SCHEDULER_FIELDS[fieldVersion], ...kept.flat()];
}

/** The declarations whose fields are not sent. */
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
    // An empty or foreign file has no known columns.
    return new Set();
  }
}

/** Returns the rows of a read-only query to a scheduler's database. Rejects as SQLite does. */
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
