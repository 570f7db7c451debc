/**
 * The fields of a manifest as data tables, from which validation, JSON Schema, legacy descriptors, unknown-key checks,
 * merging and types are derived.   agentcli spec "Fields"
 */

/** From weakest to strongest. */
export const TRUST_LEVELS = ["untrusted", "restricted", "supervised", "autonomous"] as const;
/** How far an identity is trusted. */
export type TrustLevel = (typeof TRUST_LEVELS)[number];

/** Compares two levels; negative if the first is weaker. */
export function compareTrust(one: TrustLevel, other: TrustLevel): number {
  return TRUST_LEVELS.indexOf(one) - TRUST_LEVELS.indexOf(other);
}

/** Fields by name, in checking order. */
export type Fields = Readonly<Record<string, Field>>;

/**
 * One field: a word, or an object if it needs more. A trailing "!" marks a required field, a leading "#" the name of a
 * block. Null counts as absent. `kept` is a value of a broader scope that a narrower one cannot override.
 */
export type Field =
  /** `string`: non-blank, without control characters. */
  | `${"string" | "identifier" | "token"}${"" | "!"}`
  /** `text`: any string, even empty. `condition`: `contains:…` or `regex:…`. */
  | ("text" | "condition" | "boolean" | "list" | "trust level")
  /** The name of an environment variable; the prefix of a file name. */
  | ("variable" | "file prefix")
  /** A required shell command. */
  | "command line"
  /** An object with arbitrary members; merged one level deep, or replaced. */
  | ("map" | "merged map")
  /** Environment variables by name. */
  | "environment"
  /** The source of a value: environment, file, command, or a literal. */
  | ("source" | "source or literal")
  /** The flat form of 0.1 or the structured form of 0.2. */
  | "identity"
  | `#${string}`
  | { readonly among: readonly string[]; readonly required?: true; readonly kept?: string }
  | { readonly type: "boolean"; readonly kept: true }
  /** The minimum. */
  | { readonly integer: number }
  | { readonly number: number }
  | { readonly list: Field }
  /** The name of a block that is replaced as a whole instead of merged. */
  | { readonly whole: string }
  /** Removed from the format; names the replacement. */
  | { readonly removed: string };

/** The blocks of a manifest, including groups of fields such as `governance`. */
export const BLOCKS = {
  subject: {
    kind: {
      among: ["agent", "service", "workload", "user", "composite", "delegated-agent", "unknown"],
    },
    principal: "string",
    display_name: "string",
    run_as: "token",
    issuer: "string",
    delegation_mode: { among: ["none", "on-behalf-of", "impersonation"] },
    attributes: "map",
  },
  delegation_policy: {
    max_depth: { integer: 1 },
    allowed_delegators: "list",
    require_grant_per_hop: "boolean",
  },
  auth: {
    mode: { among: ["none", "service", "delegated", "on-behalf-of", "impersonation", "exchange"] },
    scopes: "list",
    audience: "string",
    resource: "string",
    cache: { among: ["none", "memory", "state"] },
    refresh: { among: ["never", "manual", "auto"] },
    required: "boolean",
    delegation_policy: "#delegation_policy",
    provider_config: "merged map",
    inputs: "merged map",
  },
  trust_constraints: {
    escalation: { among: ["fail", "human-approval", "log-and-proceed"] },
    max_autonomy: "trust level",
    escalation_timeout: "string",
    require_justification: "boolean",
  },
  trust: { level: "trust level", constraints: "#trust_constraints" },
  binding_target: {
    kind: { among: ["env", "file", "stdin", "none"] },
    name: "string",
    prefix: "file prefix",
    expose_as: "variable",
  },
  binding: {
    source: "string!",
    target: "#binding_target",
    required: "boolean",
    redact: "boolean",
    format: { among: ["raw", "json", "base64"] },
  },
  presentation: {
    handoff: { among: ["none", "downscope", "transaction-token"] },
    cleanup: { among: ["always", "on-success", "on-failure", "never"] },
    default_redaction: "boolean",
    bindings: { list: "#binding" },
  },
  /** Identity in the form of 0.1. */
  flat_identity: { principal: "token", run_as: "token", attestation: "string" },
  /** Identity in the form of 0.2; any of these fields makes the flat ones ignored. */
  structured_identity: {
    ref: "string",
    scope: "string",
    subject: "#subject",
    auth: "#auth",
    trust: "#trust",
    presentation: "#presentation",
  },
  identity_profile: {
    id: "identifier!",
    provider: "string!",
    subject: "#subject",
    auth: "#auth",
    trust: "#trust",
    presentation: "#presentation",
    provider_config: "merged map",
  },
  /** The rules that an execution must keep. */
  contract: {
    sandbox: { among: ["none", "permissive", "strict"] },
    allowed_paths: { list: "string!" },
    network: { among: ["unrestricted", "restricted", "none"] },
    max_cost_usd: { number: 0 },
    audit: { among: ["none", "on-failure", "always"] },
    required_trust_level: "trust level",
    trust_enforcement: { among: ["none", "advisory", "strict"] },
  },
  /** The check that runs after the task. */
  verify: {
    shell: "command line",
    timeout_seconds: { integer: 1 },
    on_failure: { among: ["error", "warn"] },
  },
  /** True if the check must succeed. */
  verification: { required: { type: "boolean", kept: true } },
  proof_reference: { ref: "string!", claims: "merged map", verify: "#verification" },
  source: { env: "string", file: "string", literal: "string", command: "string" },
  proof: { value_from: "source" },
  proof_profile: {
    id: "identifier!",
    method: { among: ["jwt", "detached-signature", "certificate", "none"] },
    issuer: "string",
    audience: "string",
    jwks_uri: "string",
    public_key: "string",
    allowed_signers: "string",
    principal: "string",
    namespace: "string",
    ca_certificate: "string",
    ca_certificate_from: "source or literal",
    proof: { whole: "proof" },
    claims: "merged map",
    verify: "#verification",
  },
  request: { include: { list: "string!" } },
  /** Provider answers by their meaning. */
  decision: {
    allow_values: { list: "string!" },
    deny_values: { list: "string!" },
    escalate_values: { list: "string!" },
  },
  authorization_reference: {
    ref: "string!",
    on_error: { among: ["deny", "warn"], kept: "deny" },
    provider_config: "merged map",
    request: { whole: "request" },
    decision: { whole: "decision" },
  },
  authorization_profile: {
    id: "identifier!",
    provider: "string!",
    provider_config: "merged map",
    on_error: { among: ["deny", "warn"], kept: "deny" },
    request: { whole: "request" },
    decision: { whole: "decision" },
  },
  payload: { bind: "list", context: "map", format: { among: ["canonical-json", "json"] } },
  evidence_reference: { ref: "string", payload: "#payload", verify: "#verification" },
  evidence_profile: {
    id: "identifier!",
    provider: "string!",
    methods: "list",
    provider_config: "merged map",
    payload: "#payload",
    verify: "#verification",
  },
  /** The target of a task. */
  target: {
    session_target: { among: ["main", "isolated", "shell"], required: true },
    payload_kind: { among: ["systemEvent", "agentTurn", "shellCommand"] },
    agent_id: "token",
  },
  /** A program and its input; never a shell line. */
  shell: {
    program: "token!",
    args: { list: "string!" },
    env: "environment",
    cwd: "string",
    stdin: "text",
  },
  model_policy: { provider: "token", model: "token", thinking: "token" },
  /** When a root task runs. */
  schedule: { cron: "string!", tz: "string" },
  /** The task that triggers this one. */
  trigger: {
    parent: "string!",
    on: { among: ["success", "failure", "complete"], required: true },
    delay_s: { integer: 0 },
    condition: "condition",
  },
  intent: { mode: { among: ["execute", "plan"] }, read_only: "boolean" },
  output: {
    preview_bytes: { integer: 64 },
    offload: { among: ["auto", "always", "never"] },
    retrieve: { among: ["inline", "on-demand"] },
    format: { among: ["json", "ndjson", "text"] },
  },
  budgets: {
    max_iterations: { integer: 1 },
    max_fanout: { integer: 1 },
    max_context_items: { integer: 1 },
    max_pending_approvals: { integer: 1 },
    max_queued_dispatches: { integer: 1 },
  },
  delivery: {
    mode: { among: ["announce", "announce-always", "none"] },
    channel: "token",
    to: "token",
  },
  /** The policy for repeated and concurrent runs of a task. */
  reliability: {
    guarantee: { among: ["at-most-once", "at-least-once"] },
    overlap_policy: { among: ["skip", "allow", "queue"] },
    max_retries: { integer: 0 },
  },
  runtime: { timeout_ms: { integer: 1 } },
  /** The approval that a run needs. */
  approval: {
    required: "boolean",
    policy: { among: ["manual", "auto-approve", "auto-reject"] },
    risk_level: { among: ["low", "medium", "high"] },
    approver_scope: "token",
    auto: { among: ["approve", "reject"] },
    timeout_s: { integer: 1 },
  },
  context: { retrieval: { among: ["none", "recent", "hybrid"] }, limit: { integer: 1 } },
  session: { preferred_key: "token" },
  governance: {
    identity: "identity",
    contract: "#contract",
    authorization_proof: "#proof_reference",
    authorization: "#authorization_reference",
    evidence: "#evidence_reference",
  },
  /** The last fields of workflows and tasks. */
  tail: {
    child_credential_policy: { among: ["none", "inherit", "downscope", "independent"] },
    verify: "#verify",
  },
  workflow_head: { id: "identifier!", name: "string!", model_policy: "#model_policy" },
  task_head: { id: "identifier!", name: "string!", enabled: "boolean" },
  /** The first fields of a failure handler. */
  handler_head: {
    id: "identifier",
    name: "string",
    enabled: "boolean",
    delay_s: { integer: 0 },
    condition: "condition",
  },
  /** The program or prompt of a task. */
  surface: {
    command: { removed: "is not supported; use shell.program and shell.args" },
    prompt: "string",
    shell: "#shell",
  },
  invocation: { schedule: "#schedule", trigger: "#trigger" },
  task_options: {
    model_policy: "#model_policy",
    intent: "#intent",
    output: "#output",
    budgets: "#budgets",
    delivery: "#delivery",
    reliability: "#reliability",
    runtime: "#runtime",
    approval: "#approval",
    context: "#context",
    session: "#session",
  },
  task_settings: { auth_profile: "string", delete_after_run: "boolean" },
} as const;
