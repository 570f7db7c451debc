/**
 * The capabilities of the scheduler, as it says itself, or else as is known of any; and what a
 * manifest needs that it cannot. Nothing is handed over that would not be enforced.   agentcli spec
 * "Capabilities"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { FieldVersion } from "../compile/scheduler-fields.ts";
import type { SchedulerJob } from "../compile/scheduler-job.ts";
import { type Failure, failure } from "../failure.ts";

/** The features that count here. */
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
