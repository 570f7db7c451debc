/**
 * Compiles a manifest to AGTP endpoints, one per task, whose program the manifest fixes. The daemon registers the same
 * endpoints, so that the compiled output shows exactly what is served.   AGTP-API §6.4, §7
 */
import type { SemanticBlock } from "../../../endpoint/endpoint.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { Manifest, Workflow } from "../manifest/manifest.ts";
import { applyEvidenceProfile, applyProofProfile, findUnenforceable } from "./merge.ts";
import {
  type Compiled,
  expandWorkflows,
  explainPlan,
  planTask,
  type TaskPlan,
} from "./task-plan.ts";

/** An endpoint without its handler; keys are those of an endpoint file. */
interface TaskEndpoint {
  readonly method: "EXECUTE";
  readonly path: string;
  readonly description: string;
  readonly namespace: "agentcli";
  readonly semantic: SemanticBlock;
  readonly input_schema: JsonSchema;
  readonly output_schema: JsonSchema;
  readonly errors: readonly string[];
}

export interface PlannedEndpoint {
  readonly plan: TaskPlan;
  readonly endpoint: TaskEndpoint;
}

/** The caller's input; none of it changes the program. */
const RUN_INPUT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    dry_run: { type: "boolean", description: "Say what would be run, and run nothing." },
  },
  additionalProperties: false,
};

/** The errors of a task that is refused or fails. */
export const RUN_ERRORS = [
  "approval_required",
  "approval_rejected",
  "approval_auto_rejected",
  "authorization_denied",
  "authorization_error",
  "authorization_escalation_required",
  "authorization_proof_failed",
  "contract_violation",
  "evidence_failed",
  "identity_delegation_invalid",
  "identity_resolution_failed",
  "no_runtime",
  "presentation_target_invalid",
  "runtime_failed",
  "sandbox_enforcement_unavailable",
  "task_already_running",
  "task_not_started",
  "trust_level_insufficient",
  "verify_failed",
] as const;
export type RunError = (typeof RUN_ERRORS)[number];

/** Compiles for the target "agtp". */
export function compileEndpoints(manifest: Manifest): Compiled {
  const planned = expandWorkflows(manifest).flatMap(planEndpoints);
  const output = {
    target: "agtp",
    version: "0.2",
    endpoints: planned
      .filter(({ plan }) => plan.enabled)
      .map(({ endpoint }) => ({ ...endpoint, handler: { type: "registered_function" } })),
  };
  const explain = planned.map(({ plan, endpoint }) => {
    return explainPlan(plan, "agtp", notesOf(plan, endpoint, manifest));
  });
  return { output, explain };
}

/** The endpoints of one expanded workflow. */
export function planEndpoints(workflow: Workflow): readonly PlannedEndpoint[] {
  return workflow.tasks.map((task) => {
    const plan = planTask(workflow, task);
    return { plan, endpoint: endpointOf(plan) };
  });
}

/** The path of a task; the prefixes keep ids from being taken for method names. */
function taskPath({ workflow_id, task_id }: TaskPlan["source"]): string {
  return `/workflows/wf:${workflow_id}/task:${task_id}`;
}

/** Tells whether a task is a program rather than a prompt. */
export function isProgram(plan: TaskPlan): boolean {
  return "program" in plan.execution.payload;
}

function endpointOf(plan: TaskPlan): TaskEndpoint {
  const what = isProgram(plan) ? "Runs the program" : "Sends the prompt";
  const { intent, name } = plan;
  const isHarmless = intent.read_only === true || intent.mode === "plan";
  return {
    method: "EXECUTE",
    path: taskPath(plan.source),
    description: `${what} of the task "${name}" as its manifest has it.`,
    namespace: "agentcli",
    semantic: {
      intent: `Carry out the task "${name}" of an operator's workflow.`,
      actor: "agent",
      outcome: "The task has run, and what it put out is returned; ok says whether it succeeded.",
      capability: "domain_spanning",
      confidence: 0.8,
      impact: isHarmless ? "informational" : "irreversible",
      is_idempotent: isHarmless,
    },
    input_schema: RUN_INPUT_SCHEMA,
    output_schema: RUN_OUTPUT_SCHEMA,
    errors: [...RUN_ERRORS],
  };
}

/** The reason that every run of a task will be refused; undefined if the manifest shows none. */
export function findRefusal(plan: TaskPlan, manifest: Manifest): string | undefined {
  const unkept = findUnenforceable(plan.contract);
  if (unkept !== undefined) return `its contract's ${unkept} cannot be enforced`;
  const proof = plan.authorization_proof && applyProofProfile(manifest, plan.authorization_proof);
  if (proof?.verify.required === true && (proof.method ?? "none") === "none") {
    return 'it must give an authorization proof, and method "none" verifies none';
  }
  const evidence = plan.evidence && applyEvidenceProfile(manifest, plan.evidence);
  if (isProgram(plan) || evidence?.verify.required !== true) return undefined;
  return "it must give evidence, and of a prompt there is none";
}

function notesOf(plan: TaskPlan, { path }: TaskEndpoint, manifest: Manifest): readonly string[] {
  if (!plan.enabled) return ["It is not enabled, and so it is no endpoint."];
  const exposed = "its workflow is listed in [agentcli] expose";
  const wanted = isProgram(plan) ? exposed : `${exposed} and a prompt_runtime is configured`;
  const refusal = findRefusal(plan, manifest);
  const runs =
    refusal === undefined
      ? `EXECUTE ${path} runs it on demand, once ${wanted}.`
      : `EXECUTE ${path} refuses every run: ${refusal}.`;
  return [runs, occasionOf(plan)];
}

function occasionOf({ invocation }: TaskPlan): string {
  if (invocation.mode === "schedule") {
    return "The schedule is a scheduler's business: a daemon has no clock for it.";
  }
  const { parent, on, delay_s: delay } = invocation;
  const occasion = `when "${parent}" comes to ${on}`;
  return delay > 0
    ? `Running ${delay} s later ${occasion} is a scheduler's business: a daemon has no clock for it.`
    : `It also runs ${occasion}.`;
}

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
const RUN_OUTPUT_SCHEMA: JsonSchema = {
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
    /** With status 202, nothing has run. */
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
    hashes: {
      type: "object",
      properties: { command: { type: "string" }, result: { type: "string" } },
    },
    handoff: {
      type: "object",
      properties: { mode: { type: "string" }, prepared: { type: "boolean" } },
    },
    audited: { type: "boolean", description: "Whether the run stands in the log." },
    warnings: { type: "array", items: { type: "string" } },
    children: { type: "array", items: { type: "object" } },
  },
};
