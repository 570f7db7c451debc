/**
 * The agentcli workflows of a deployment: manifests loaded, exposed tasks made endpoints, and what
 * their runs need of this daemon.   AGTP-API §6.1
 */
import { relative } from "node:path";
import { createWorld } from "../agents/agentcli/create-world.ts";
import { loadWorkflows } from "../agents/agentcli/load-workflows.ts";
import { Approvals } from "../agents/agentcli/run/approvals.ts";
import type { Executor } from "../agents/agentcli/run/execution.ts";
import { type PromptRuntime, readRuntimePath } from "../agents/agentcli/run/prompt-runtime.ts";
import { secretsOf } from "../agents/agentcli/run/redact-output.ts";
import { readSettings, trustOf } from "../agents/agentcli/settings.ts";
import { taskRoutes } from "../agents/agentcli/task-routes.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import type { Config } from "../config/config.ts";
import type { EndpointRegistry } from "../contract/endpoint-registry.ts";
import type { SchemaCompiler } from "../contract/schema.ts";
import type { Route } from "../dispatch/route.ts";
import type { Environment } from "../environment.ts";
import type { CallLog } from "../handlers/handler.ts";
import type { Problem } from "../problem.ts";
import { EscalationNews } from "../tasks/escalation-news.ts";
import type { FloorState } from "./floor-state.ts";

/** What they are loaded from. */
export interface AgentcliSources {
  readonly config: Config;
  readonly env: Environment;
  readonly floor: Pick<FloorState, "store" | "tasks" | "webhooks" | "taskRuns">;
  readonly compiler: SchemaCompiler;
  readonly names: MethodNames;
  /** What the operator serves by files of its own. */
  readonly operators: readonly Route[];
  readonly log: Pick<CallLog, "warn">;
}

/** The endpoints, and what is wrong. */
export interface AgentcliTasks {
  readonly routes: readonly Route[];
  readonly problems: readonly Problem[];
  /** What is served, once all is known: the agent that answers prompts is among it. */
  join(registry: EndpointRegistry<Route>): void;
}

/** A client that waits for a task must not be kept waiting by what comes after it. */
const ANSWER_MARGIN_MS = 500;

/** Loads them; writes nothing. */
export function loadAgentcliTasks(sources: AgentcliSources): AgentcliTasks {
  const { config, env, floor, compiler, names, operators } = sources;
  const { directory } = config;
  const configFile = relative(directory, config.file);
  const settings = readSettings(config.agentcli);
  const loaded = loadWorkflows(settings, { directory, configFile });
  const problems: Problem[] = [...loaded.problems];
  let served: EndpointRegistry<Route> | undefined;
  const path = settings.promptRuntime && readRuntimePath(settings.promptRuntime);
  const runtime: PromptRuntime | undefined =
    path === undefined
      ? undefined
      : { path, endpoint: () => served?.find("EXECUTE", path)?.entry.definition };
  const executor: Executor = {
    // Whom the daemon runs as, and where, is nothing for agents to know.
    world: { ...createWorld(env, directory), operator: `agtpd@${config.server.serverId}` },
    approvals: openApprovals(sources),
    slots: floor.taskRuns.slots,
    runtime,
    trustOf: (tier) => trustOf(settings, tier),
    usualTimeoutMs: Math.max(1, config.limits.handlerTimeoutMs - ANSWER_MARGIN_MS),
    secrets: secretsOf(env),
  };
  const made = taskRoutes(loaded.workflows, { compiler, names, executor });
  problems.push(...made.problems);
  const taken = new Map(
    operators.map(({ method, path: at, definition }) => [`${method} ${at}`, definition.file]),
  );
  const routes = made.routes.filter(({ method, path: at, definition }) => {
    const file = taken.get(`${method} ${at}`);
    if (file === undefined) return true;
    const message = `${method} ${at} is already an endpoint of ${file}`;
    problems.push({ file: definition.file, key: "workflows", message });
    return false;
  });
  return {
    routes,
    problems,
    join: (registry) => {
      served = registry;
    },
  };
}

function openApprovals({ config, floor, log }: AgentcliSources): Approvals {
  const { escalations } = floor.tasks;
  const news = new EscalationNews({
    escalations,
    queue: floor.webhooks,
    url: config.webhooks.escalations,
    serverId: config.server.serverId,
    onFault: (error) => log.warn({ error }, "people cannot be told of an approval"),
  });
  const changes = floor.taskRuns.approvalChanges;
  return new Approvals({ store: floor.store, escalations, news, changes });
}
