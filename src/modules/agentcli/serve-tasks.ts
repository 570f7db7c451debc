/**
 * Serves a deployment's agentcli workflows: loads manifests, creates endpoints of exposed tasks, and connects their
 * runs to this daemon.   AGTP-API §6.1
 */
import { relative } from "node:path";
import type { ForwardClock } from "../../base/forward-clock.ts";
import type { Problem } from "../../base/problem.ts";
import { ProcessGroups } from "../../base/process-groups.ts";
import { checkTemplate } from "../../catalog/path-grammar.ts";
import { behalfOf, delegatorsOf } from "../../dispatch/caller/delegation.ts";
import { isOneRevoked, shownCertificates } from "../../dispatch/caller/shown-certificates.ts";
import { refuseInactiveCaller } from "../../dispatch/gates/03-lifecycle.ts";
import { identifyAgents } from "../../dispatch/module/hosted-agents.ts";
import type { Contribution } from "../../dispatch/module/module.ts";
import { payerOf } from "../../dispatch/rates/rates.ts";
import { certificateRevoked } from "../../dispatch/refusals/refusal.ts";
import { createRoute, type Route, type RouteHandler } from "../../dispatch/routes/route.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { compileOwn } from "../../schema/schema.ts";
import type { HostedAgent } from "../../state/registers/hosted-identity.ts";
import type { ServerState } from "../../state/state.ts";
import type { Store } from "../../state/store.ts";
import {
  findRefusal,
  isProgram,
  type PlannedEndpoint,
  planEndpoints,
} from "./compile/endpoints.ts";
import type { AgentcliConfig, AgentcliContext } from "./config.ts";
import { createWorld } from "./create-world.ts";
import { type ExposedWorkflow, loadingWorkflows } from "./load-workflows.ts";
import type { TrustLevel } from "./manifest/fields.ts";
import type { Task } from "./manifest/manifest.ts";
import { Approvals } from "./run/approvals.ts";
import { type Executor, type PromptRuntime, toHandlerResult } from "./run/execution.ts";
import { secretsOf } from "./run/program-output.ts";
import { findRuntimeFault, readRuntimePath } from "./run/prompt-runtime.ts";
import { runTask } from "./run/run-task.ts";
import { TaskRuns } from "./run/task-runs.ts";
import { TaskTurns } from "./run/task-turns.ts";

/** The time kept for answering before a waiting client times out. */
const ANSWER_MARGIN_MS = 500;

/** Loads the workflows and returns their contribution, without writing to the store. */
export async function serveTasks(context: AgentcliContext): Promise<Contribution> {
  const { config, drive } = context;
  const { directory } = config;
  const configFile = relative(directory, config.file);
  const settings = config.agentcli;
  const loaded = await drive(loadingWorkflows(settings, { directory, configFile }));
  const executor = await executorOf(context, settings);
  const made = taskRoutes(loaded.workflows, context, executor);
  const identities = await identifyAgents(loaded.workflows.map(hostedAgent), context);
  return {
    routes: made.routes,
    routesKey: "workflows",
    agents: identities.issued,
    problems: [...loaded.problems, ...made.problems, ...identities.problems],
    complete: async () => {
      await identities.keep();
      const fault = made.hasPrompts && executor.runtime && findRuntimeFault(executor.runtime);
      if (!fault) return [];
      const message = `no prompt can be answered: ${fault}`;
      return [{ file: configFile, key: "agentcli.prompt_runtime", message, severity: "warning" }];
    },
  };
}

async function executorOf(context: AgentcliContext, settings: AgentcliConfig): Promise<Executor> {
  const { config, env } = context;
  const kept = await context.once(openRunState);
  return {
    ...kept,
    // Hides the daemon's user and host from agents.
    world: {
      ...createWorld(env, config.directory, kept.groups),
      operator: `agtpd@${config.server.serverId}`,
    },
    runtime: promptRuntime(context, settings),
    findInactive: (asker) => {
      const { lifecycle, certificates } = context.state;
      const { directory } = context.deployment();
      const isRevoked = isOneRevoked(shownCertificates(asker), certificates);
      if (isRevoked) return certificateRevoked().message;
      return refuseInactiveCaller(asker.caller, { directory, lifecycle })?.message;
    },
    trustOf: (tier) => trustOf(settings, tier),
    usualTimeoutMs: Math.max(1, config.limits.handlerTimeoutMs - ANSWER_MARGIN_MS),
    secrets: secretsOf(env),
  };
}

/** The agent that answers prompts, looked up when served. */
function promptRuntime(
  { deployment }: AgentcliContext,
  settings: AgentcliConfig,
): PromptRuntime | undefined {
  const path = settings.promptRuntime && readRuntimePath(settings.promptRuntime);
  if (path === undefined) return undefined;
  return { path, endpoint: () => deployment().registry.find("EXECUTE", path)?.entry.definition };
}

/** An exposed workflow as a hosted agent, so that it is listed among the agents. */
function hostedAgent({ file, workflow: { id, name } }: ExposedWorkflow): HostedAgent {
  const key = `agentcli/${id}`;
  return { key, name: key, file, scopes: [], description: `The workflow "${name}".` };
}

/** Maps a tier to a trust level; unmapped tiers are untrusted if any tier is mapped. */
function trustOf(
  { trustLevels }: AgentcliConfig,
  tier: number | undefined,
): TrustLevel | undefined {
  if (Object.keys(trustLevels).length === 0) return undefined;
  return trustLevels[String(tier ?? 0)] ?? "untrusted";
}

/** The state of task runs, shared across reloads. */
interface RunState {
  readonly runs: TaskRuns;
  readonly approvals: Approvals;
  /** The running programs. */
  readonly groups: ProcessGroups;
}

/** Opens the stored state. */
async function openRunState(
  store: Store,
  _: Pick<ForwardClock, "now">,
  { escalations, holders }: Pick<ServerState, "escalations" | "holders">,
): Promise<RunState> {
  const isShared = holders.self !== undefined;
  const turns = isShared ? await TaskTurns.open(store, holders) : undefined;
  return {
    runs: new TaskRuns(turns),
    approvals: await Approvals.open(store, escalations),
    groups: new ProcessGroups(),
  };
}

interface TaskRoutes {
  readonly routes: readonly Route[];
  readonly problems: readonly Problem[];
  /** True if some tasks are prompts. */
  readonly hasPrompts: boolean;
}

/**
 * Returns a route for every exposed task that can run here: `EXECUTE /workflows/wf:{id}/task:{id}`, of the operator's
 * tier, with its program fixed by the manifest.   AGTP-API §6.1
 */
function taskRoutes(
  workflows: readonly ExposedWorkflow[],
  context: AgentcliContext,
  executor: Executor,
): TaskRoutes {
  const routes: Route[] = [];
  const problems: Problem[] = [];
  let hasPrompts = false;
  for (const exposed of workflows) {
    const planned = planEndpoints(exposed.workflow);
    for (const [index, task] of exposed.workflow.tasks.entries()) {
      const endpoint = planned[index];
      if (endpoint === undefined) continue;
      const reason = whyNot(endpoint, context, executor);
      if (reason === undefined) {
        routes.push(taskRoute(exposed, task, endpoint, executor));
        hasPrompts ||= !isProgram(endpoint.plan);
      } else problems.push(warning(exposed, endpoint, `is not served: ${reason}`));
      // A task that always refuses is also reported at the start.
      const refusal = reason ?? findRefusal(endpoint.plan, exposed.manifest);
      if (reason === undefined && refusal !== undefined) {
        problems.push(warning(exposed, endpoint, `refuses every run: ${refusal}`));
      }
    }
  }
  return { routes, problems, hasPrompts };
}

function whyNot(
  { plan, endpoint }: PlannedEndpoint,
  { names }: AgentcliContext,
  executor: Executor,
): string | undefined {
  if (!plan.enabled) return "it is not enabled";
  if (!isProgram(plan) && executor.runtime === undefined) {
    return "it is a prompt, and no prompt_runtime is configured";
  }
  return checkTemplate(endpoint.path, names)?.message;
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
  executor: Executor,
): Route {
  const { input_schema: inputSchema, output_schema: outputSchema, ...described } = endpoint;
  const definition: EndpointDefinition = {
    ...described,
    ...{ file, inputSchema, outputSchema },
    requiredScopes: [],
    handler: { type: "registered_function", function: "agentcli.tasks.run" },
  };
  const found = { manifest, workflow, task, plan };
  const handler: RouteHandler = async (call, exchange) => {
    const isKnown = exchange.caller.document !== undefined;
    const findInactive = (): string | undefined => executor.findInactive(exchange);
    const delegators = {
      delegatedBy: delegatorsOf(exchange.caller),
      behalf: behalfOf(exchange.caller),
    };
    const caller = { call, isKnown, delegators, payer: payerOf(exchange), findInactive };
    const outcome = await runTask(found, caller, executor);
    if (outcome.kind === "report" && outcome.status === 202) exchange.markAwaiting();
    return toHandlerResult(outcome);
  };
  return createRoute(definition, handler, {
    tier: "B",
    startsWork: true,
    input: compileOwn(inputSchema),
    output: compileOwn(outputSchema),
    // The manifest sets the timeout, which may exceed that of other handlers.
    endsInTime: true,
  });
}
