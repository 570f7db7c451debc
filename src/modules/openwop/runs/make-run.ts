/**
 * Creates a run from a request: finds the workflow or generates one for an agent, validates inputs and options against
 * it, and redacts suspected secrets.   OpenWOP "rest-endpoints" POST /v1/runs, RFC 0072 §B
 */
import { hash } from "node:crypto";
import { escapeToken } from "../../../base/dotted-key.ts";
import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { compileOwn, type SchemaViolation } from "../../../schema/schema.ts";
import type { RunOwner } from "../agent-executor.ts";
import { VERBOSITIES } from "../config.ts";
import type { Workflow } from "../workflows/load-workflows.ts";
import { NAME, type WorkflowVariable } from "../workflows/workflow.ts";
import { findWrongPin, resolvePins } from "./agent-pins.ts";
import { redactDefault } from "./redact.ts";
import { isRefused, MIN_DURATION_MS, type Run, type RunRefusal, refuseRun } from "./run.ts";
import type { RunParts } from "./workflow-runs.ts";

/** Creates a run from a request's body, or refuses it. */
export function makeRun(parts: RunParts, body: JsonRecord, owner: RunOwner): Run | RunRefusal {
  const fault = checkBody(body, owner);
  if (fault !== undefined) return fault;
  const workflow = findWorkflow(parts, body, owner.tenant);
  if (isRefused(workflow)) return workflow;
  const { definition } = workflow;
  const { catalog, redact, register } = parts;
  const wrong = findWrongPin(definition, catalog, owner.tenant);
  if (wrong !== undefined) return refusePin(wrong);
  const { inputs = {}, configurable = {}, tags = [], metadata = {}, scopeId } = body;
  const violations = [
    ...checkVariables(definition.variables, inputs as JsonRecord),
    ...(workflow.configurable?.check(configurable) ?? []).map(under("/configurable")),
  ];
  if (violations.length > 0) return invalid(violations);
  const resolved = resolvePins(definition, catalog, owner.tenant);
  const variables = definition.variables.map((one) => redactDefault(one, redact));
  return {
    ...{ runId: uuidv7(), workflow: { ...resolved, variables }, owner, createdAt: register.now() },
    ...redact({
      inputs: inputs as JsonRecord,
      configurable: configurable as JsonRecord,
      tags: tags as readonly string[],
      metadata: metadata as JsonRecord,
    }),
    ...(scopeId === undefined ? {} : { scopeId: redact(String(scopeId)) }),
  };
}

/** Refuses an invalid body, naming its violations. */
export function invalid(violations: readonly SchemaViolation[]): RunRefusal {
  const [first] = violations;
  const message = `${first?.path || "/"} ${first?.message}`;
  return refuseRun("validation_error", message, { errors: violations.slice(0, 20) });
}

function refusePin({ nodeId, fault }: NonNullable<ReturnType<typeof findWrongPin>>): RunRefusal {
  const { member, message, details } = fault;
  const place = `/nodes/${nodeId}/agent/${member}`;
  return refuseRun("validation_error", `${place} ${message}`, { nodeId, ...details });
}

function checkBody(body: JsonRecord, owner: RunOwner): RunRefusal | undefined {
  for (const name of ["callbackUrl", "residency", "mode", "evalSuiteRef"]) {
    if (body[name] === undefined) continue;
    return refuseRun("validation_error", `/${name} is not supported by this host`);
  }
  const { configurable, tenantId } = body;
  const refusal = refuseOptions(configurable);
  if (refusal !== undefined) return refusal;
  const violations = compileOwn(RUN_BODY_SCHEMA).check(body);
  if (violations !== undefined) return invalid(violations);
  if (tenantId !== undefined && tenantId !== owner.tenant) {
    return refuseRun("validation_error", "/tenantId must be the caller's own tenant, or absent");
  }
  return undefined;
}

/** Refuses options that this host does not support. */
export function refuseOptions(configurable: unknown): RunRefusal | undefined {
  if (!isRecord(configurable)) return undefined;
  if (configurable["mockProvider"] !== undefined) {
    return refuseRun("mock_provider_forbidden", "this host has no mock providers");
  }
  if (configurable["budget"] === undefined) return undefined;
  return refuseRun("validation_error", "/configurable/budget is not supported by this host");
}

function findWorkflow(
  parts: RunParts,
  { workflowId, agentId }: JsonRecord,
  tenant: string,
): Workflow | RunRefusal {
  if ((workflowId === undefined) === (agentId === undefined)) {
    return refuseRun("validation_error", "either workflowId or agentId must be given");
  }
  const { catalog, redact } = parts;
  if (typeof agentId === "string") {
    const found = agentWorkflow(catalog, agentId, tenant);
    if (found !== undefined) return found;
    const named = redact(agentId);
    const message = `there is no agent ${quoteValue(named)}`;
    return refuseRun("agent_not_found", message, { agentId: named });
  }
  const workflow = findDefinition(parts, String(workflowId), tenant);
  if (workflow === undefined) {
    const named = redact(workflowId);
    const message = `/workflowId names no workflow of this host: ${quoteValue(named)}`;
    return refuseRun("validation_error", message, { workflowId: named });
  }
  const { isActive = true, status = "active" } = workflow.definition;
  if (isActive && status === "active") return workflow;
  const message = "/workflowId names a workflow that is not active";
  return refuseRun("validation_error", message, { workflowId });
}

/** Finds a workflow by id: one from a file, or the generated one of an agent. */
export function findDefinition(
  { workflows, catalog }: Pick<RunParts, "workflows" | "catalog">,
  workflowId: string,
  tenant: string,
): Workflow | undefined {
  const loaded = workflows.get(workflowId);
  if (loaded === undefined) {
    const agents = catalog.inventory(tenant);
    const agent = agents.find(({ agentId }) => agentWorkflowId(agentId) === workflowId);
    return agent && agentWorkflow(catalog, agent.agentId, tenant);
  }
  const { tenantId = tenant } = loaded.definition;
  return tenantId === tenant ? loaded : undefined;
}

/**
 * Generates the one-node workflow that dispatching an agent runs, as if written with the agent pinned. Undefined if the
 * tenant has no such agent.   OpenWOP RFC 0072 §B
 */
function agentWorkflow(
  catalog: RunParts["catalog"],
  agentId: string,
  tenant: string,
): Workflow | undefined {
  const agent = catalog.reference(agentId, tenant);
  if (agent === undefined) return undefined;
  const { name, version } = agent;
  const node = {
    ...{ id: "agent", typeId: "core.agent", name, position: { x: 0, y: 0 }, config: {} },
    inputs: { task: { type: "variable", variableName: "task", optional: true } as const },
    agent,
  };
  const triggers = [{ id: "manual", type: "manual" }];
  const definition = {
    ...{ id: agentWorkflowId(agentId), name, version, nodes: [node], edges: [], triggers },
    ...{ variables: [], metadata: {}, settings: {} },
  };
  return { definition, configurable: undefined };
}

/** The digest tells apart agents whose readable parts are equal. */
function agentWorkflowId(agentId: string): string {
  const readable = agentId.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-");
  return `agent-${readable.slice(0, 96)}-${hash("sha256", agentId).slice(0, 8)}`;
}

function checkVariables(
  variables: readonly WorkflowVariable[],
  inputs: JsonRecord,
): readonly SchemaViolation[] {
  return variables.flatMap(({ name, type, required, defaultValue }): SchemaViolation[] => {
    const path = `/inputs/${escapeToken(name)}`;
    if (!Object.hasOwn(inputs, name)) {
      const isMissing = required === true && defaultValue === undefined;
      return isMissing ? [{ path, keyword: "required", message: "is missing" }] : [];
    }
    const fits = typeNameOf(inputs[name]) === type;
    return fits ? [] : [{ path, keyword: "type", message: `must be of type ${type}` }];
  });
}

function typeNameOf(value: unknown): string {
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}

/** Prefixes the paths of a nested value's violations. */
export function under(parent: string): (violation: SchemaViolation) => SchemaViolation {
  return (violation) => ({ ...violation, path: `${parent}${violation.path}` });
}

const COUNT = { type: "integer", minimum: 1 };

/** Unknown keys are accepted. */
const CONFIGURABLE = {
  type: "object",
  maxProperties: 128,
  properties: {
    recursionLimit: COUNT,
    model: NAME,
    temperature: { type: "number", minimum: 0, maximum: 2 },
    maxTokens: COUNT,
    promptOverrides: { type: "object", additionalProperties: { type: "string" } },
    escalationThreshold: { type: "number", minimum: 0, maximum: 1 },
    reasoningVerbosity: { enum: VERBOSITIES },
    runTimeoutMs: { type: "integer", minimum: MIN_DURATION_MS },
    maxLoopIterations: COUNT,
  },
};

/** The option names that the protocol defines. */
export const RESERVED_OPTIONS: ReadonlySet<string> = new Set(Object.keys(CONFIGURABLE.properties));

const OPTIONS = {
  configurable: CONFIGURABLE,
  tags: { type: "array", items: NAME, maxItems: 100 },
  metadata: { type: "object", maxProperties: 128 },
};

/** The body of a request for a run, over AGTP and HTTP. */
export const RUN_PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  workflowId: NAME,
  agentId: NAME,
  inputs: { type: "object", maxProperties: 1024 },
  tenantId: NAME,
  scopeId: NAME,
  ...OPTIONS,
};

/** The body of POST /v1/runs. */
export const RUN_BODY_SCHEMA: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: RUN_PARAMETERS,
};

/** The members that a branch may override. */
export const OVERLAY_SCHEMA: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: OPTIONS,
};
