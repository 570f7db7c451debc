/**
 * From a request to a run that can be kept: the workflow found or, for one agent, generated; inputs
 * and options checked against what the workflow declares; what looks like a secret taken out.
 * OpenWOP "rest-endpoints" POST /v1/runs, RFC 0072 §B
 */

import { escapeToken } from "../../../base/dotted-key.ts";
import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { CompiledSchema, SchemaCompiler, SchemaViolation } from "../../../schema/schema.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { RunOwner } from "../agent-executor.ts";
import { agentWorkflow, findAgentWorkflow } from "../workflows/agent-workflow.ts";
import type { Workflow, Workflows } from "../workflows/load-workflows.ts";
import type { WorkflowVariable } from "../workflows/workflow.ts";
import { findWrongPin, resolvePins } from "./agent-pins.ts";
import type { Run } from "./run.ts";
import { OVERLAY_SCHEMA, RUN_BODY_SCHEMA } from "./run-body-schema.ts";
import type { Redact } from "./run-log.ts";
import { isRefused, type RunRefusal, refuseRun } from "./run-refusal.ts";

/** The rules that requests are checked against. */
export interface RunMaker {
  readonly workflows: Workflows;
  readonly catalog: AgentCatalog;
  readonly redact: Redact;
  /** The shape of a request for a run. */
  readonly body: CompiledSchema;
  /** The shape of what a fork changes. */
  readonly overlay: CompiledSchema;
  now(): number;
}

/** Compiles the shapes of requests. */
export function compileShapes(compiler: SchemaCompiler): Pick<RunMaker, "body" | "overlay"> {
  const compile = (schema: JsonSchema, file: string, key: string): CompiledSchema => {
    const { compiled } = compiler.compile(schema, { file, key });
    if (compiled === undefined) throw new Error(`the schema of ${file} does not compile`);
    return compiled;
  };
  return {
    body: compile(RUN_BODY_SCHEMA, "POST /v1/runs", "body"),
    overlay: compile(OVERLAY_SCHEMA, "POST /v1/runs/{runId}:fork", "runOptionsOverlay"),
  };
}

/** Makes a run of a request's body, or says why there is none. */
export function makeRun(maker: RunMaker, body: JsonRecord, owner: RunOwner): Run | RunRefusal {
  const fault = checkBody(maker, body, owner);
  if (fault !== undefined) return fault;
  const workflow = findWorkflow(maker, body, owner.tenant);
  if (isRefused(workflow)) return workflow;
  const { definition } = workflow;
  const scope = { catalog: maker.catalog, tenant: owner.tenant };
  const wrong = findWrongPin(definition, scope);
  if (wrong !== undefined) return refusePin(wrong);
  const { inputs = {}, configurable = {}, tags = [], metadata = {}, scopeId } = body;
  const violations = [
    ...checkVariables(definition.variables, inputs as JsonRecord),
    ...(workflow.configurable?.check(configurable) ?? []).map(under("/configurable")),
  ];
  if (violations.length > 0) return invalid(violations);
  const { redact } = maker;
  const now = maker.now();
  return {
    ...{ runId: uuidv7(), workflow: resolvePins(definition, scope), owner, createdAt: now },
    ...redact({
      inputs: inputs as JsonRecord,
      configurable: configurable as JsonRecord,
      tags: tags as readonly string[],
      metadata: metadata as JsonRecord,
    }),
    ...(scopeId === undefined ? {} : { scopeId: redact(String(scopeId)) }),
  };
}

/** The fault of a body, told so that it can be mended. */
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

function checkBody(
  { body: shape }: RunMaker,
  body: JsonRecord,
  owner: RunOwner,
): RunRefusal | undefined {
  for (const name of ["callbackUrl", "residency", "mode", "evalSuiteRef"]) {
    if (body[name] === undefined) continue;
    return refuseRun("validation_error", `/${name} is nothing that this host does`);
  }
  const { configurable, tenantId } = body;
  if (isRecord(configurable)) {
    if (configurable["mockProvider"] !== undefined) {
      return refuseRun("mock_provider_forbidden", "this host has no mock providers");
    }
    if (configurable["budget"] !== undefined) {
      return refuseRun("validation_error", "/configurable/budget is nothing that this host does");
    }
  }
  const violations = shape.check(body);
  if (violations !== undefined) return invalid(violations);
  if (tenantId !== undefined && tenantId !== owner.tenant) {
    return refuseRun("validation_error", "/tenantId must be the caller's own tenant, or absent");
  }
  return undefined;
}

function findWorkflow(
  { workflows, catalog, redact }: RunMaker,
  { workflowId, agentId }: JsonRecord,
  tenant: string,
): Workflow | RunRefusal {
  if ((workflowId === undefined) === (agentId === undefined)) {
    return refuseRun("validation_error", "either workflowId or agentId must be given");
  }
  if (typeof agentId === "string") {
    const definition = agentWorkflow(catalog, agentId, tenant);
    if (definition !== undefined) return { definition, configurable: undefined };
    const named = redact(agentId);
    const message = `there is no agent ${quoteValue(named)}`;
    return refuseRun("agent_not_found", message, { agentId: named });
  }
  const workflow = findDefinition(workflows, catalog, String(workflowId), tenant);
  if (workflow !== undefined) return isActive(workflow) ? workflow : inactive(String(workflowId));
  const named = redact(workflowId);
  const message = `/workflowId names no workflow of this host: ${quoteValue(named)}`;
  return refuseRun("validation_error", message, { workflowId: named });
}

function isActive({ definition }: Workflow): boolean {
  const { isActive: flag = true, status = "active" } = definition;
  return flag && status === "active";
}

function inactive(workflowId: string): RunRefusal {
  return refuseRun("validation_error", "/workflowId names a workflow that is not active", {
    workflowId,
  });
}

/** A workflow by id: of a file, or the one that is generated for an agent. */
export function findDefinition(
  workflows: Workflows,
  catalog: AgentCatalog,
  workflowId: string,
  tenant: string,
): Workflow | undefined {
  const loaded = workflows.get(workflowId);
  if (loaded !== undefined) {
    const { tenantId } = loaded.definition;
    return tenantId === undefined || tenantId === tenant ? loaded : undefined;
  }
  const definition = findAgentWorkflow(catalog, workflowId, tenant);
  return definition && { definition, configurable: undefined };
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

/** Words the violations of a value that is a member of another. */
export function under(parent: string): (violation: SchemaViolation) => SchemaViolation {
  return (violation) => ({ ...violation, path: `${parent}${violation.path}` });
}
