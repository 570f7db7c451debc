/** The answer of EXECUTE of a task: how the run went, or that somebody has to say yes first. */
import type { JsonSchema } from "../../../schema/json-schema.ts";

const NULLABLE_STRING = { type: ["string", "null"] };

const RESULT: JsonSchema = {
  type: "object",
  required: ["exit_code", "signal", "timed_out", "duration_ms", "stdout", "stderr"],
  properties: {
    exit_code: { type: ["integer", "null"] },
    signal: NULLABLE_STRING,
    timed_out: { type: "boolean" },
    duration_ms: { type: "integer" },
    stdout: { type: "string" },
    stderr: { type: "string" },
    stdout_bytes: { type: "integer" },
    stderr_bytes: { type: "integer" },
    truncated: { type: "boolean" },
    output_hash: { type: "string" },
    structured: {},
  },
};

/** The output schema of every task's endpoint; open, as output schemas are. */
export const RUN_OUTPUT_SCHEMA: JsonSchema = {
  type: "object",
  required: ["ok", "source"],
  properties: {
    ok: { type: "boolean", description: "Whether the task ran and succeeded." },
    source: {
      type: "object",
      required: ["workflow_id", "task_id"],
      properties: { workflow_id: { type: "string" }, task_id: { type: "string" } },
    },
    execution_id: { type: "string" },
    dry_run: { type: "boolean" },
    /** 202: nothing has run. */
    approval: {
      type: "object",
      required: ["approval_id", "status", "task_hash"],
      properties: {
        approval_id: { type: "string" },
        status: { type: "string" },
        task_hash: { type: "string" },
        expires_at: { type: "string" },
      },
    },
    declared_identity: { type: ["object", "null"] },
    resolved_identity: { type: ["object", "null"] },
    principal_used: NULLABLE_STRING,
    contract: { type: ["object", "null"] },
    result: RESULT,
    warnings: { type: "array", items: { type: "string" } },
    children: { type: "array", items: { type: "object" } },
  },
};
