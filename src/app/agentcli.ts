/**
 * The agentcli workflows of a deployment: manifests loaded, exposed tasks made endpoints, and what
 * their runs need of this daemon.   AGTP-API §6.1
 */
import type { KeyObject } from "node:crypto";
import { relative } from "node:path";
import type { Config } from "../base/config.ts";
import type { Environment } from "../base/environment.ts";
import type { Problem } from "../base/problem.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import type { Route } from "../dispatch/route.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { CallLog } from "../handlers/handler.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { createWorld } from "../modules/agentcli/create-world.ts";
import { type ExposedWorkflow, loadWorkflows } from "../modules/agentcli/load-workflows.ts";
import { Approvals } from "../modules/agentcli/run/approvals.ts";
import type { Executor } from "../modules/agentcli/run/execution.ts";
import { type PromptRuntime, readRuntimePath } from "../modules/agentcli/run/prompt-runtime.ts";
import { secretsOf } from "../modules/agentcli/run/redact-output.ts";
import { readSettings, trustOf } from "../modules/agentcli/settings.ts";
import { taskRoutes } from "../modules/agentcli/task-routes.ts";
import type { SchemaCompiler } from "../schema/schema.ts";
import { type HostedIdentities, identifyHosted } from "../state/hosted-identity.ts";
import type { FloorState } from "./floor-state.ts";

/** What they are loaded from. */
export interface AgentcliSources {
  readonly config: Config;
  readonly env: Environment;
  readonly floor: Pick<FloorState, "store" | "tasks" | "taskRuns">;
  readonly compiler: SchemaCompiler;
  readonly names: MethodNames;
  /** What the operator serves by files of its own. */
  readonly operatorRoutes: readonly Route[];
  /** The operator's own agents. */
  readonly operators: readonly AgentDocument[];
  readonly signingKey: KeyObject | undefined;
  readonly log: Pick<CallLog, "warn">;
}

/** The endpoints, the workflows as agents of this server, and what is wrong. */
export interface AgentcliTasks {
  readonly routes: readonly Route[];
  /** The identities that this server issued. */
  readonly documents: readonly AgentDocument[];
  readonly problems: readonly Problem[];
  /** What is served, once all is known: the agent that answers prompts is among it. */
  join(registry: EndpointRegistry<Route>): void;
  /** Keeps the identities that are new; to be awaited before anything is served. */
  keep(): Promise<void>;
}

/** A client that waits for a task must not be kept waiting by what comes after it. */
const ANSWER_MARGIN_MS = 500;

/** Loads them; writes nothing. */
export async function loadAgentcliTasks(sources: AgentcliSources): Promise<AgentcliTasks> {
  const { config, env, floor, compiler, names, operatorRoutes } = sources;
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
  const { slots, groups, approvals } = floor.taskRuns;
  const executor: Executor = {
    // Whom the daemon runs as, and where, is nothing for agents to know.
    world: { ...createWorld(env, directory, groups), operator: `agtpd@${config.server.serverId}` },
    approvals: new Approvals({ asked: approvals, escalations: floor.tasks.escalations }),
    ...{ slots, groups },
    runtime,
    trustOf: (tier) => trustOf(settings, tier),
    usualTimeoutMs: Math.max(1, config.limits.handlerTimeoutMs - ANSWER_MARGIN_MS),
    secrets: secretsOf(env),
  };
  const made = taskRoutes(loaded.workflows, { compiler, names, executor });
  const free = withoutOperators(made.routes, operatorRoutes);
  problems.push(...made.problems, ...free.problems);
  const identities = await identify(loaded.workflows, sources);
  return {
    routes: free.routes,
    documents: identities.issued,
    problems: [...problems, ...identities.problems],
    keep: () => identities.keep(),
    join: (registry) => {
      served = registry;
    },
  };
}

/** What the operator serves there already stays. */
function withoutOperators(
  routes: readonly Route[],
  operatorRoutes: readonly Route[],
): { readonly routes: readonly Route[]; readonly problems: readonly Problem[] } {
  const taken = new Map(
    operatorRoutes.map(({ method, path, definition }) => [`${method} ${path}`, definition.file]),
  );
  const problems: Problem[] = [];
  const free = routes.filter(({ method, path, definition }) => {
    const file = taken.get(`${method} ${path}`);
    if (file === undefined) return true;
    const message = `${method} ${path} is already an endpoint of ${file}`;
    problems.push({ file: definition.file, key: "workflows", message });
    return false;
  });
  return { routes: free, problems };
}

/** Every exposed workflow is an agent of this server: it stands where agents are looked for. */
function identify(
  workflows: readonly ExposedWorkflow[],
  { config: { server }, floor, operators, signingKey }: AgentcliSources,
): Promise<HostedIdentities> {
  const wanted = workflows.map(({ file, workflow: { id, name } }) => ({
    ...{ key: `agentcli/${id}`, name: `agentcli/${id}`, file, scopes: [] },
    description: `The workflow "${name}".`,
  }));
  const { serverId, operator } = server;
  return identifyHosted(wanted, floor.store, { serverId, operator, signingKey }, operators);
}
