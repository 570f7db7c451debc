/** The types of a scheduler job's fields, for its schema; what is not here is a text. */

/** A flag is 0 or 1. */
export type JobType = "string" | "integer" | "number" | "object" | "flag";

const INTEGERS = [
  ...["run_timeout_ms", "max_retries", "max_queued_dispatches", "max_pending_approvals"],
  ...["max_trigger_fanout", "trigger_delay_s", "approval_timeout_s", "context_retrieval_limit"],
  ...["output_store_limit_bytes", "output_excerpt_limit_bytes", "output_summary_limit_bytes"],
  "output_offload_threshold_bytes",
];

const FLAGS = ["enabled", "execution_read_only", "approval_required", "delete_after_run"];
const OBJECTS = ["identity", "authorization_proof", "authorization", "evidence"];

/** By field. */
export const JOB_TYPES: Readonly<Record<string, JobType>> = Object.fromEntries([
  ...INTEGERS.map((name) => [name, "integer"] as const),
  ...FLAGS.map((name) => [name, "flag"] as const),
  ...OBJECTS.map((name) => [name, "object"] as const),
  ["contract_max_cost_usd", "number"] as const,
]);
