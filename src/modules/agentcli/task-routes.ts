/**
 * The tasks of exposed workflows as endpoints of the operator's tier: `EXECUTE
 * /workflows/wf:{id}/task:{id}`, everything that is run fixed by the manifest.   AGTP-API §6.1
 */

import type { Problem } from "../../base/problem.ts";
import { checkTemplate, type MethodNames } from "../../catalog/path-grammar.ts";
import { payerOf } from "../../dispatch/rates/payer.ts";
import { createRoute, type Route, type RouteHandler } from "../../dispatch/routes/route.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { SchemaCompiler } from "../../schema/schema.ts";
import { isProgram, type PlannedEndpoint, planEndpoints } from "./compile/endpoints.ts";
import { findUnenforceable } from "./compile/unenforceable.ts";
import type { ExposedWorkflow } from "./load-workflows.ts";
import type { Task } from "./manifest/manifest.ts";
import { type Executor, toHandlerResult } from "./run/execution.ts";
import { runTask } from "./run/run-task.ts";

interface TaskRoutesOptions {
  readonly compiler: SchemaCompiler;
  readonly names: MethodNames;
  readonly executor: Executor;
}

/** The routes, and what is not served. */
interface TaskRoutes {
  readonly routes: readonly Route[];
  readonly problems: readonly Problem[];
}

/** Makes a route of every task that can be run here. */
export function taskRoutes(
  workflows: readonly ExposedWorkflow[],
  options: TaskRoutesOptions,
): TaskRoutes {
  const routes: Route[] = [];
  const problems: Problem[] = [];
  for (const exposed of workflows) {
    const planned = planEndpoints(exposed.workflow);
    for (const [index, task] of exposed.workflow.tasks.entries()) {
      const endpoint = planned[index];
      if (endpoint === undefined) continue;
      const reason = whyNot(endpoint, options);
      if (reason === undefined) routes.push(taskRoute(exposed, task, endpoint, options));
      else problems.push(warning(exposed, endpoint, `is not served: ${reason}`));
      const unkept = reason === undefined ? unkeptContract(endpoint) : undefined;
      if (unkept !== undefined) problems.push(warning(exposed, endpoint, unkept));
    }
  }
  return { routes, problems };
}

function whyNot(
  { plan, endpoint }: PlannedEndpoint,
  options: TaskRoutesOptions,
): string | undefined {
  if (!plan.enabled) return "it is not enabled";
  if (!isProgram(plan) && options.executor.runtime === undefined) {
    return "it is a prompt, and no prompt_runtime is configured";
  }
  return checkTemplate(endpoint.path, options.names)?.message;
}

/** A refusal of every run is said at the start, too. */
function unkeptContract({ plan: { contract } }: PlannedEndpoint): string | undefined {
  const unkept = findUnenforceable(contract);
  return unkept && `refuses every run: its contract's ${unkept} cannot be enforced here`;
}

function warning(
  { file }: ExposedWorkflow,
  { plan: { source } }: PlannedEndpoint,
  message: string,
): Problem {
  const { workflow_id, task_id } = source;
  const said = `task "${task_id}" of workflow "${workflow_id}" ${message}`;
  return { file, key: "workflows", message: said, severity: "warning" };
}

function taskRoute(
  { file, manifest, workflow }: ExposedWorkflow,
  task: Task,
  { plan, endpoint }: PlannedEndpoint,
  { compiler, executor }: TaskRoutesOptions,
): Route {
  const { input_schema: inputSchema, output_schema: outputSchema, ...described } = endpoint;
  const definition: EndpointDefinition = {
    ...described,
    ...{ file, inputSchema, outputSchema },
    requiredScopes: [],
    handler: { type: "registered_function", function: "agentcli.tasks.run" },
  };
  const found = { kind: "task", manifest, workflow, task, plan } as const;
  const handler: RouteHandler = async (call, exchange) => {
    const isKnown = exchange.caller.document !== undefined;
    const caller = { call, isKnown, payer: payerOf(exchange) };
    return toHandlerResult(await runTask(found, caller, executor));
  };
  return createRoute(definition, handler, {
    tier: "B",
    startsWork: true,
    input: compile(compiler, definition, "input_schema"),
    output: compile(compiler, definition, "output_schema"),
    // The operator's manifest says how long it may take, which may be longer than other handlers.
    endsInTime: true,
  });
}

/** These schemas are this program's own: a problem is a bug. */
function compile(
  compiler: SchemaCompiler,
  { path, inputSchema, outputSchema }: EndpointDefinition,
  key: "input_schema" | "output_schema",
) {
  const schema = key === "input_schema" ? inputSchema : outputSchema;
  const { compiled, problems } = compiler.compile(schema, { file: `EXECUTE ${path}`, key });
  if (compiled === undefined) throw new Error(problems.map(({ message }) => message).join("; "));
  return compiled;
}
