/** The schemas by target, in both forms.   agentcli protocol "agentcli.schema" */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { SCHEDULER_FIELDS } from "../compile/scheduler-job.ts";
import { blockSchema, type Descriptor, describeBlock } from "../manifest/field-schemas.ts";
import { fieldsOf, PROFILE_LISTS, TASK, WORKFLOW } from "../manifest/tables.ts";
import { MANIFEST_VERSION, MANIFEST_VERSIONS } from "../manifest/validate.ts";

/** Legacy names, in command-line style. */
const ALIASES: ReadonlyMap<unknown, string> = new Map([
  ["scheduler-job", "schedulerJob"],
  ["standalone-plan", "standalonePlan"],
  ["rpc-request", "rpcRequest"],
  ["rpc-response", "rpcResponse"],
]);

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** Finds a schema by target or alias; undefined for an unknown name. */
export function findSchema(target: unknown, isLegacy: boolean): Descriptor | undefined {
  const make = MAKERS.get(ALIASES.get(target) ?? String(target));
  if (make === undefined) return undefined;
  return isLegacy ? make.legacy() : { $schema: DIALECT, ...make.schema() };
}

interface Maker {
  schema(): JsonSchema;
  legacy(): Descriptor;
}

const MAKERS: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ["manifest", { schema: manifestSchema, legacy: legacyManifest }],
  ["workflow", { schema: () => withDefinitions(workflowSchema()), legacy: legacyWorkflow }],
  ["task", { schema: taskSchema, legacy: legacyTask }],
  ["schedulerJob", { schema: () => JOB_SCHEMA, legacy: () => LEGACY_JOB }],
  ["standalonePlan", { schema: () => PLAN_SCHEMA, legacy: () => LEGACY_PLAN }],
  ["rpcRequest", { schema: () => REQUEST_SCHEMA, legacy: () => LEGACY_REQUEST }],
  ["rpcResponse", { schema: () => RESPONSE_SCHEMA, legacy: () => LEGACY_RESPONSE }],
]);

function manifestSchema(): JsonSchema {
  const profiles = Object.entries(PROFILE_LISTS).map(([key, block]) => [
    key,
    { type: ["array", "null"], items: blockSchema(fieldsOf(block) ?? {}) },
  ]);
  return {
    title: "agentcli manifest",
    type: "object",
    required: ["version", "workflows"],
    properties: {
      version: { enum: MANIFEST_VERSIONS },
      ...Object.fromEntries(profiles),
      workflows: { type: "array", minItems: 1, items: { $ref: "#/$defs/workflow" } },
    },
    additionalProperties: false,
    $defs: { workflow: workflowSchema(), task: taskSchema() },
  };
}

function withDefinitions(schema: JsonSchema): JsonSchema {
  return { ...schema, $defs: { task: taskSchema() } };
}

function workflowSchema(): JsonSchema {
  const { properties, ...rest } = blockSchema(WORKFLOW);
  return {
    ...rest,
    required: ["id", "name", "tasks"],
    properties: {
      ...(properties as object),
      tasks: { type: "array", minItems: 1, items: { $ref: "#/$defs/task" } },
    },
  };
}

function taskSchema(): JsonSchema {
  const only = (key: string): JsonSchema => ({
    required: [key],
    properties: { [key]: { type: "object" } },
  });
  return {
    ...blockSchema(TASK),
    oneOf: [only("schedule"), only("trigger")],
    if: {
      properties: { target: { properties: { session_target: { const: "shell" } } } },
    },
    // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
    then: {
      ...only("shell"),
      not: { required: ["prompt"], properties: { prompt: { type: "string" } } },
    },
    else: { required: ["prompt"], not: only("shell") },
  };
}

function legacyManifest(): Descriptor {
  const profiles = Object.entries(PROFILE_LISTS).map(([key, block]) => [
    key,
    { type: "array", nullable: true, items: describeBlock(fieldsOf(block) ?? {}) },
  ]);
  return {
    type: "object",
    required: ["version", "workflows"],
    fields: {
      version: { type: "string", const: MANIFEST_VERSION },
      ...Object.fromEntries(profiles),
      workflows: { type: "array", minItems: 1, items: legacyWorkflow() },
    },
  };
}

function legacyWorkflow(): Descriptor {
  const { fields } = describeBlock(WORKFLOW);
  const tasks = { type: "array", minItems: 1, items: legacyTask() };
  return {
    type: "object",
    required: ["id", "name", "tasks"],
    fields: { ...(fields as object), tasks },
  };
}

function legacyTask(): Descriptor {
  return { ...describeBlock(TASK), note: "Exactly one of schedule or trigger must be present." };
}

const RPC_ID: JsonSchema = { type: ["string", "number", "null"] };

const REQUEST_SCHEMA: JsonSchema = {
  type: "object",
  required: ["jsonrpc", "method"],
  properties: {
    jsonrpc: { const: "2.0" },
    id: RPC_ID,
    method: { type: "string" },
    params: { type: ["object", "null"] },
  },
};

const RESPONSE_SCHEMA: JsonSchema = {
  type: "object",
  required: ["jsonrpc", "id"],
  properties: {
    jsonrpc: { const: "2.0" },
    id: RPC_ID,
    result: { type: "object" },
    error: {
      type: "object",
      required: ["code", "message"],
      properties: { code: { type: "integer" }, message: { type: "string" }, data: {} },
    },
  },
  oneOf: [{ required: ["result"] }, { required: ["error"] }],
};

const LEGACY_ID = { type: ["string", "number"], nullable: true };

const LEGACY_REQUEST: Descriptor = {
  type: "object",
  required: ["jsonrpc", "method"],
  fields: {
    jsonrpc: { type: "string", const: "2.0" },
    id: LEGACY_ID,
    method: { type: "string" },
    params: { type: "object", nullable: true },
  },
};

const LEGACY_RESPONSE: Descriptor = {
  type: "object",
  required: ["jsonrpc"],
  fields: {
    jsonrpc: { type: "string", const: "2.0" },
    id: LEGACY_ID,
    result: { type: "object", nullable: true },
    error: { type: "object", nullable: true },
  },
};

/** The types of a job's fields; a flag is 0 or 1. */
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

const JOB_SCHEMA: JsonSchema = {
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

/** The legacy descriptor of a job. */
const LEGACY_JOB: Descriptor = {
  type: "object",
  fields: {
    ...Object.fromEntries(
      JOB_FIELDS.map(([name, type]) => [
        name,
        type === "flag" ? { type: "integer", note: "1 or 0" } : { type, nullable: true },
      ]),
    ),
    source: {
      type: "object",
      fields: { workflow_id: { type: "string" }, task_id: { type: "string" } },
    },
  },
};

const CAPABILITIES = Object.fromEntries(
  [
    ...["authoring", "planning", "runtime_execution", "rpc", "model_policy", "execution_intent"],
    ...["output_hints", "budgets", "identity", "contracts"],
  ].map((name) => [name, { type: "boolean" }]),
);
const LIST = { type: "array", items: { type: "object" } };

const PLAN_SCHEMA: JsonSchema = {
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

/** The legacy descriptor of a plan. */
const LEGACY_PLAN: Descriptor = {
  type: "object",
  fields: {
    target: { type: "string", const: "standalone" },
    version: { type: "string", const: MANIFEST_VERSION },
    capabilities: { type: "object", fields: CAPABILITIES },
    workflows: { type: "array", minItems: 1 },
    explain: { type: "array", nullable: true },
  },
};
