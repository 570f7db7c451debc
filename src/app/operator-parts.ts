/**
 * All that the operator's files bring: endpoints and recipes, and the agents and tasks of other
 * systems, each of which leaves the place to what was there before it.   AGTP-API §6.1
 */
import type { KeyObject } from "node:crypto";
import type { Config } from "../base/config.ts";
import type { Environment } from "../base/environment.ts";
import { type Drive, turn } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import type { InnerEntrance } from "../dispatch/dispatcher.ts";
import type { Route } from "../dispatch/route.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { Recipe } from "../endpoint/recipe.ts";
import type { CallLog } from "../handlers/handler.ts";
import { createModuleLoader, type ModuleLoader } from "../handlers/module-loader.ts";
import { type AgentDirectory, creatingAgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { SchemaCompiler } from "../schema/schema.ts";
import type { ServerState } from "../state/state.ts";
import type { AgentcliSources, AgentcliTasks } from "./agentcli.ts";
import type { AgntcyAgents, AgntcySources } from "./agntcy.ts";
import { loadingContents, openUpstreamPools } from "./contents.ts";
import type { FloorState } from "./floor-state.ts";
import { checkDefaultAgent } from "./identity-parts.ts";
import type { Opened } from "./opened.ts";
import { loadOpenwopAgents, type OpenwopAgents } from "./openwop-agents.ts";
import { bindOperatorRoutes } from "./operator-routes.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What they are loaded with. */
export interface OperatorSources {
  readonly config: Config;
  readonly vocabulary: Vocabulary;
  readonly env: Environment;
  readonly state: ServerState;
  readonly floor: FloorState;
  readonly log: Pick<CallLog, "info" | "warn">;
  readonly signingKey: KeyObject | undefined;
  /** Identities that are there already. */
  readonly operators: readonly AgentDocument[];
  readonly opened: Opened;
  readonly drive: Drive;
}

/** All of it, ready to be served. */
export interface OperatorParts {
  readonly compiler: SchemaCompiler;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly loader: ModuleLoader;
  readonly operatorRoutes: readonly Route[];
  /** Every agent there is. */
  readonly directory: AgentDirectory;
  readonly openwop: OpenwopAgents;
  readonly agntcy: AgntcyAgents;
  readonly problems: readonly Problem[];
  /** Keeps the identities that are new; to be awaited before anything is served. */
  keep(): Promise<void>;
  /** The pipeline that agents and tasks call, and what it serves. */
  join(entrance: InnerEntrance, registry: EndpointRegistry<Route>): void;
}

/** Loads it; writes nothing. */
export async function loadOperatorParts(sources: OperatorSources): Promise<OperatorParts> {
  const { config, vocabulary, env, state, floor, log, signingKey, operators, opened } = sources;
  const { drive } = sources;
  const problems: Problem[] = [];
  const { compiler, recipes, endpoints } = await drive(
    loadingContents(config, vocabulary, env, problems),
  );
  const loader = createModuleLoader({ root: config.handlers.root });
  const pools = opened.add(await openUpstreamPools(endpoints));
  const own = await bindOperatorRoutes({
    ...{ endpoints, recipes, loader, pools, methodPolicy: vocabulary.methodPolicy },
    handlerTimeoutMs: config.limits.handlerTimeoutMs,
    drive,
  });
  const common = { config, ...vocabulary, env, state, floor, log, signingKey };
  const { store } = floor;
  await drive(turn());
  const openwop = opened.add(
    await loadOpenwopAgents({
      ...{ ...common, store, loader, operators },
      endpoints: own.routes.map(({ definition }) => definition),
    }),
  );
  await drive(turn());
  const agentcli = await loadTasks({
    ...{ ...common, compiler, operatorRoutes: own.routes, operators },
  });
  const before = [...own.routes, ...openwop.routes, ...agentcli.routes];
  const agntcy = opened.add(
    await loadAgents({
      ...{ ...common, store, lifecycle: state.lifecycle },
      ...{ kept: floor.agntcy, stopping: floor.stopping.signal },
      escalations: floor.tasks.escalations,
      operators: [...operators, ...openwop.documents, ...agentcli.documents],
      endpoints: before.map(({ definition }) => definition),
    }),
  );
  const directory = await drive(creatingAgentDirectory(agntcy.documents));
  problems.push(...checkDefaultAgent(config, directory));
  for (const part of [own, openwop, agentcli, agntcy]) problems.push(...part.problems);
  return {
    ...{ compiler, recipes, loader, directory, openwop, agntcy, problems },
    operatorRoutes: [...before, ...agntcy.routes],
    keep: async () => {
      await Promise.all([openwop, agentcli, agntcy].map((one) => one.keep()));
    },
    join: (entrance, registry) => {
      agentcli.join(registry);
      openwop.join(entrance, registry);
    },
  };
}

/** A program that nobody uses is not loaded: a start would wait for it. */
async function loadTasks(sources: AgentcliSources): Promise<AgentcliTasks> {
  const { manifests, expose } = sources.config.agentcli;
  if (isEmpty(manifests) && isEmpty(expose)) return NO_TASKS;
  const { loadAgentcliTasks } = await import("./agentcli.ts");
  return loadAgentcliTasks(sources);
}

const NO_TASKS: AgentcliTasks = {
  ...{ routes: [], documents: [], problems: [] },
  join: () => undefined,
  keep: () => Promise.resolve(),
};

async function loadAgents(sources: AgntcySources): Promise<AgntcyAgents> {
  const { config, operators } = sources;
  if (config.agntcy.length === 0) return { ...NO_AGENTS, documents: operators };
  const { loadAgntcyAgents } = await import("./agntcy.ts");
  return loadAgntcyAgents(sources);
}

const NO_AGENTS: Omit<AgntcyAgents, "documents"> = {
  ...{ routes: [], problems: [], sources: [], hosted: [] },
  keep: () => Promise.resolve(),
  start: () => undefined,
  handOver: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

function isEmpty(list: unknown): boolean {
  return !Array.isArray(list) || list.length === 0;
}
