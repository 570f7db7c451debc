/** The fields of workflows, of tasks, and of the handlers of their failures. */
import {
  among,
  BOOLEAN,
  block,
  type Field,
  type Fields,
  integer,
  list,
  REQUIRED_IDENTIFIER,
  REQUIRED_STRING,
  REQUIRED_TOKEN,
  STRING,
  TOKEN,
} from "./field.ts";
import {
  AUTHORIZATION_REFERENCE,
  CHILD_CREDENTIAL_POLICY,
  CONTRACT_FIELDS,
  EVIDENCE_REFERENCE,
  PROOF_REFERENCE,
  VERIFY,
} from "./governance-fields.ts";

/** The target that a task runs on. */
export const TARGET: Field = block(
  {
    session_target: { kind: "enum", values: ["main", "isolated", "shell"], required: true },
    payload_kind: among("systemEvent", "agentTurn", "shellCommand"),
    agent_id: TOKEN,
  },
  ["session_target"],
);

/** A program and what it is given; never a line for a shell. */
export const SHELL: Field = block(
  {
    program: REQUIRED_TOKEN,
    args: list(REQUIRED_STRING),
    env: { kind: "environment" },
    cwd: STRING,
    stdin: { kind: "text" },
  },
  ["program"],
);

const MODEL_POLICY = block({ provider: TOKEN, model: TOKEN, thinking: TOKEN });

/** When a root task runs. */
export const SCHEDULE: Field = block({ cron: REQUIRED_STRING, tz: STRING }, ["cron"]);

/** After what a triggered task runs. */
export const TRIGGER: Field = block(
  {
    parent: REQUIRED_STRING,
    on: { kind: "enum", values: ["success", "failure", "complete"], required: true },
    delay_s: integer(0),
    condition: { kind: "condition" },
  },
  ["parent", "on"],
);

const GOVERNANCE: Fields = {
  identity: { kind: "identity" },
  contract: block(CONTRACT_FIELDS),
  authorization_proof: block(PROOF_REFERENCE, ["ref"]),
  authorization: block(AUTHORIZATION_REFERENCE, ["ref"]),
  evidence: block(EVIDENCE_REFERENCE),
};

/** The blocks that any task may have. */
export const OPTIONAL_BLOCKS: Fields = {
  model_policy: MODEL_POLICY,
  intent: block({ mode: among("execute", "plan"), read_only: BOOLEAN }),
  output: block({
    preview_bytes: integer(64),
    offload: among("auto", "always", "never"),
    retrieve: among("inline", "on-demand"),
    format: among("json", "ndjson", "text"),
  }),
  budgets: block({
    max_iterations: integer(1),
    max_fanout: integer(1),
    max_context_items: integer(1),
    max_pending_approvals: integer(1),
    max_queued_dispatches: integer(1),
  }),
  delivery: block({
    mode: among("announce", "announce-always", "none"),
    channel: TOKEN,
    to: TOKEN,
  }),
  reliability: block({
    guarantee: among("at-most-once", "at-least-once"),
    overlap_policy: among("skip", "allow", "queue"),
    max_retries: integer(0),
  }),
  runtime: block({ timeout_ms: integer(1) }),
  approval: block({
    required: BOOLEAN,
    policy: among("manual", "auto-approve", "auto-reject"),
    risk_level: among("low", "medium", "high"),
    approver_scope: TOKEN,
    auto: among("approve", "reject"),
    timeout_s: integer(1),
  }),
  context: block({ retrieval: among("none", "recent", "hybrid"), limit: integer(1) }),
  session: block({ preferred_key: TOKEN }),
  ...GOVERNANCE,
  auth_profile: STRING,
  delete_after_run: BOOLEAN,
  child_credential_policy: CHILD_CREDENTIAL_POLICY,
  verify: VERIFY,
};

const COMMAND: Field = {
  kind: "removed",
  message: "is not supported; use shell.program and shell.args",
};

/** The fields of the work that a task does. */
export const SURFACE: Fields = { command: COMMAND, prompt: STRING, shell: SHELL, target: TARGET };

/** The first fields of the handler of a failure. */
export const HANDLER_HEAD: Fields = {
  id: { kind: "identifier" },
  name: STRING,
  enabled: BOOLEAN,
  delay_s: integer(0),
  condition: { kind: "condition" },
};

/** All fields of the task that runs when another has failed, written in short. */
export const ON_FAILURE: Fields = { ...HANDLER_HEAD, ...SURFACE, ...OPTIONAL_BLOCKS };

/** The first fields of a task. */
export const TASK_HEAD: Fields = {
  id: REQUIRED_IDENTIFIER,
  name: REQUIRED_STRING,
  enabled: BOOLEAN,
};

/** All fields of a task. */
export const TASK: Fields = {
  ...TASK_HEAD,
  ...SURFACE,
  schedule: SCHEDULE,
  trigger: TRIGGER,
  ...OPTIONAL_BLOCKS,
  on_failure: block(ON_FAILURE),
};

/** All fields of a workflow but its tasks. */
export const WORKFLOW: Fields = {
  id: REQUIRED_IDENTIFIER,
  name: REQUIRED_STRING,
  model_policy: MODEL_POLICY,
  ...GOVERNANCE,
  child_credential_policy: CHILD_CREDENTIAL_POLICY,
  verify: VERIFY,
};
