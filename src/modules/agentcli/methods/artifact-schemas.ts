/** The schemas of what manifests are compiled to, in both forms. */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { SCHEDULER_FIELDS } from "../compile/scheduler-job.ts";
import type { Descriptor } from "../manifest/field-schemas.ts";
import { MANIFEST_VERSION } from "../manifest/validate.ts";

/** A flag is 0 or 1. */
type JobType = "string" | "integer" | "number" | "object" | "flag";

const INTEGERS = [
  ...["run_timeout_ms", "max_retries", "max_queued_dispatches", "max_pending_approvals"],
  ...["max_trigger_fanout", "trigger_delay_s", "approval_timeout_s", "context_retrieval_limit"],
  ...["output_store_limit_bytes", "output_excerpt_limit_bytes", "output_summary_limit_bytes"],
  "output_offload_threshold_bytes",
];

const FLAGS = ["enabled", "execution_read_only", "approval_required", "delete_after_run"];
const OBJECTS = ["identity", "authorization_proof", "authorization", "evidence"];

const JOB_TYPES: Readonly<Record<string, JobType>> = Object.fromEntries([
  ...INTEGERS.map((name) => [name, "integer"] as const),
  ...FLAGS.map((name) => [name, "flag"] as const),
  ...OBJECTS.map((name) => [name, "object"] as const),
  ["contract_max_cost_usd", "number"] as const,
]);

const JOB_FIELDS = SCHEDULER_FIELDS["2"].map(
  (name) => [name, JOB_TYPES[name] ?? "string"] as const,
);

/** A job of the scheduler. */
export const JOB_SCHEMA: JsonSchema = {
  type: "object",
  required: ["id", "name", "session_target", "payload_kind", "payload_message"],
  properties: {
    ...Object.fromEntries(
      JOB_FIELDS.map(([name, type]) => [
        name,
        type === "flag" ? { enum: [0, 1, null] } : { type: [type, "null"] },
      ]),
    ),
    source: {
      type: "object",
      properties: { workflow_id: { type: "string" }, task_id: { type: "string" } },
    },
  },
};

/** A job in the descriptors of old. */
export const LEGACY_JOB: Descriptor = {
  type: "object",
  fields: Object.fromEntries(
    JOB_FIELDS.map(([name, type]) => [
      name,
      type === "flag" ? { type: "integer", note: "1 or 0" } : { type, nullable: true },
    ]),
  ),
};

const CAPABILITIES = Object.fromEntries(
  [
    ...["authoring", "planning", "runtime_execution", "rpc", "model_policy", "execution_intent"],
    ...["output_hints", "budgets", "identity", "contracts"],
  ].map((name) => [name, { type: "boolean" }]),
);
const LIST = { type: "array", items: { type: "object" } };

/** A standalone plan. */
export const PLAN_SCHEMA: JsonSchema = {
  type: "object",
  required: ["target", "version", "capabilities", "workflows"],
  properties: {
    target: { const: "standalone" },
    version: { const: MANIFEST_VERSION },
    capabilities: { type: "object", properties: CAPABILITIES },
    workflows: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["id", "name", "tasks", "edges"],
        properties: {
          id: { type: "string" },
          name: { type: "string" },
          tasks: LIST,
          edges: LIST,
        },
      },
    },
    explain: LIST,
  },
};

/** A plan in the descriptors of old. */
export const LEGACY_PLAN: Descriptor = {
  type: "object",
  fields: {
    target: { type: "string", const: "standalone" },
    version: { type: "string", const: MANIFEST_VERSION },
    capabilities: { type: "object", fields: CAPABILITIES },
    workflows: { type: "array", minItems: 1 },
    explain: { type: "array", nullable: true },
  },
};
