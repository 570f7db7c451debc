/**
 * The agentcli workflows of a deployment: manifests loaded, exposed tasks made endpoints, and what
 * their runs need of this daemon.   AGTP-API §6.1
 */
import { relative } from "node:path";
import type { ForwardClock } from "../../base/forward-clock.ts";
import { ProcessGroups } from "../../base/process-groups.ts";
import type { Contribution } from "../../dispatch/module/module.ts";
import { type HostedIdentities, identifyHosted } from "../../state/registers/hosted-identity.ts";
import type { ServerState } from "../../state/state.ts";
import type { Store } from "../../state/store.ts";
import type { AgentcliConfig, AgentcliContext } from "./config.ts";
import { createWorld } from "./create-world.ts";
import { type ExposedWorkflow, loadingWorkflows } from "./load-workflows.ts";
import type { TrustLevel } from "./manifest/identity-fields.ts";
import { Approvals } from "./run/approvals.ts";
import type { Executor } from "./run/execution.ts";
import { type PromptRuntime, readRuntimePath } from "./run/prompt-runtime.ts";
import { secretsOf } from "./run/redact-output.ts";
import { TaskRuns } from "./run/task-runs.ts";
import { TaskTurns } from "./run/task-turns.ts";
import { taskRoutes } from "./task-routes.ts";

/** A client that waits for a task must not be kept waiting by what comes after it. */
const ANSWER_MARGIN_MS = 500;

/** Loads them; writes nothing. */
export async function serveTasks(context: AgentcliContext): Promise<Contribution> {
  const { config, compiler, names, drive } = context;
  const { directory } = config;
  const configFile = relative(directory, config.file);
  const settings = config.agentcli;
  const loaded = await drive(loadingWorkflows(settings, { directory, configFile }));
  const executor = await executorOf(context, settings);
  const made = taskRoutes(loaded.workflows, { compiler, names, executor });
  const identities = await identify(loaded.workflows, context);
  return {
    routes: made.routes,
    routesKey: "workflows",
    agents: identities.issued,
    problems: [...loaded.problems, ...made.problems, ...identities.problems],
    complete: async () => {
      await identities.keep();
      return [];
    },
  };
}

/** The executor of the tasks. */
async function executorOf(context: AgentcliContext, settings: AgentcliConfig): Promise<Executor> {
  const { config, env } = context;
  const kept = await context.once(openRunState);
  return {
    ...kept,
    // The daemon's user and place are nothing for agents to know.
    world: {
      ...createWorld(env, config.directory, kept.groups),
      operator: `agtpd@${config.server.serverId}`,
    },
    runtime: promptRuntime(context, settings),
    trustOf: (tier) => trustOf(settings, tier),
    usualTimeoutMs: Math.max(1, config.limits.handlerTimeoutMs - ANSWER_MARGIN_MS),
    secrets: secretsOf(env),
  };
}

/** The agent that answers prompts, once it is served. */
function promptRuntime(
  { dispatch }: AgentcliContext,
  settings: AgentcliConfig,
): PromptRuntime | undefined {
  const path = settings.promptRuntime && readRuntimePath(settings.promptRuntime);
  if (path === undefined) return undefined;
  return { path, endpoint: () => dispatch().registry.find("EXECUTE", path)?.entry.definition };
}

/** Every exposed workflow is an agent of this server: it stands where agents are looked for. */
function identify(
  workflows: readonly ExposedWorkflow[],
  { config: { server }, state, directory, signingKey, drive }: AgentcliContext,
): Promise<HostedIdentities> {
  const wanted = workflows.map(({ file, workflow: { id, name } }) => ({
    ...{ key: `agentcli/${id}`, name: `agentcli/${id}`, file, scopes: [] },
    description: `The workflow "${name}".`,
  }));
  const { serverId, operator } = server;
  const issuer = { serverId, operator, signingKey };
  const { store } = state;
  return identifyHosted(wanted, issuer, { store, known: directory.list(), drive });
}

/** Of a caller's tier; a tier that is not mapped where others are is not trusted. */
function trustOf(
  { trustLevels }: AgentcliConfig,
  tier: number | undefined,
): TrustLevel | undefined {
  if (Object.keys(trustLevels).length === 0) return undefined;
  return trustLevels[String(tier ?? 0)] ?? "untrusted";
}

/** The state of tasks' runs, which two generations of a deployment share. */
interface RunState {
  readonly runs: TaskRuns;
  readonly approvals: Approvals;
  /** The programs that run. */
  readonly groups: ProcessGroups;
}

/** Opens what an earlier process kept; nothing runs yet. */
async function openRunState(
  store: Store,
  _: Pick<ForwardClock, "now">,
  { escalations, holders }: Pick<ServerState, "escalations" | "holders">,
): Promise<RunState> {
  const isShared = holders.self !== undefined;
  const turns = isShared ? await TaskTurns.open(store, holders) : undefined;
  return {
    runs: await TaskRuns.open(turns),
    approvals: await Approvals.open(store, escalations),
    groups: new ProcessGroups(),
  };
}
