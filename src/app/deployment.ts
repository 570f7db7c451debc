/**
 * Everything between the files of a deployment and a dispatcher, built completely before anything
 * is served. All problems are collected; which of them stop the start is decided here.
 * AGTP-API "Validation Timing"
 */

import { relative } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";
import type { Environment } from "../base/environment.ts";
import { type Drive, giveWay, type Paced } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import { THE_SERVER } from "../base/task-queue.ts";
import {
  type CompiledApprovals,
  compilingApprovalPolicy,
} from "../dispatch/approvals/approval-problems.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { BoundPorts, ConsoleSide, Gateway } from "../dispatch/module/http-gateway.ts";
import type { AssembledDeployment, ServerVocabulary } from "../dispatch/module/module.ts";
import type { Observer } from "../dispatch/observer.ts";
import { preparingInputs } from "../dispatch/routes/protocol-endpoint.ts";
import type { McpServers } from "../handlers/call-upstream.ts";
import { ModuleEnds } from "../handlers/module-ends.ts";
import { createModuleLoader, withProcesses } from "../handlers/module-loader.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import { chooseGatewayAgent } from "../modules/gateway/gateway-agent.ts";
import { loadCompiledAhead, preparingGenerators } from "../schema/schema.ts";
import type { ControlCommand } from "../server/control-socket.ts";
import type { RecordSigner } from "../state/records/sealer.ts";
import type { LifecycleRegister } from "../state/registers/lifecycle-register.ts";
import { assemble } from "./assemble.ts";
import type { Config } from "./config/config.ts";
import {
  bindOperatorRoutes,
  loadingContents,
  loadVocabulary,
  openUpstreamPools,
  readVocabulary,
} from "./contents.ts";
import {
  checkDefaultAgent,
  Disposables,
  type Foundation,
  type FoundationSources,
  type LoadingParts,
  layFoundation,
  loadingOperatorAgents,
} from "./foundation.ts";
import { checkKeySource } from "./jwks/keys.ts";
import { MODULES } from "./modules.ts";
import { type AnyModule, type Provisioned, provisionModules } from "./provision.ts";

/** A deployment that can be served. */
export interface Deployment {
  readonly config: Config;
  readonly dispatcher: Dispatcher;
  readonly directory: AgentDirectory;
  readonly signer: RecordSigner;
  readonly lifecycle: Pick<LifecycleRegister, "statusOf">;
  /** Undefined: HTTP clients are not served. */
  readonly gateway: Gateway | undefined;
  /** Undefined: no pages are served to operators. */
  readonly console: ConsoleSide | undefined;
  readonly commands: ReadonlyMap<string, ControlCommand>;
  /** Says where the deployment is served; before `commit`. */
  bind(ports: BoundPorts): void;
  /** The manifest's `document_version`; undefined without one. */
  documentVersion(): Promise<string | undefined>;
  /** Makes what takes long to make: awaited before the deployment takes the place of another. */
  prepare(): Promise<void>;
  /** Begins what belongs to serving it: called when the deployment is served, and not before. */
  commit(): void;
  /**
   * Makes what the first who ask would wait for, in turns with everybody, and writes what outlives
   * the process: called when it is committed and whoever waits for the server has been told.
   */
  warmUp(): Promise<readonly Problem[]>;
  /** Ends what its last requests can do without: another deployment is served. */
  retire(): Promise<void>;
  /** Ends what the deployment holds open, once its running requests are done. */
  close(): Promise<void>;
}

/** The parts that a deployment takes from the process that serves it. */
export interface DeploymentOptions extends FoundationSources {
  readonly observer: Observer;
  /** The modules to build; all of `MODULES` unless given. */
  readonly modules?: readonly AnyModule[];
}

/** A deployment, and everything that is wrong with its files. */
export interface LoadedDeployment {
  /** Undefined when a problem stops the start. */
  readonly deployment: Deployment | undefined;
  readonly problems: readonly Problem[];
}

/** Loads, compiles and binds a whole deployment. Writes nothing but the identities that it issues. */
export async function loadDeployment(
  config: Config,
  options: DeploymentOptions,
): Promise<LoadedDeployment> {
  const problems: Problem[] = [];
  const vocabulary = loadVocabulary(config, problems);
  if (vocabulary === undefined) {
    return {
      deployment: undefined,
      problems: await surveyDeployment(config, options.env, options.drive),
    };
  }
  await options.drive(giveWay());
  const untilIdle = new Disposables();
  const progress: LoadingParts = {
    problems,
    untilIdle,
    untilReplaced: untilIdle.add(new Disposables()),
  };
  let deployment: Deployment | undefined;
  try {
    const foundation = await layFoundation(config, vocabulary, options, progress);
    if (foundation === undefined) {
      problems.push(...(await surveyContents(config, vocabulary, options)));
    } else deployment = await provisionAndAssemble(foundation, options, progress);
  } finally {
    if (deployment === undefined) await untilIdle.close();
  }
  return { deployment, problems };
}

/** Undefined when a problem stops the start. */
async function provisionAndAssemble(
  foundation: Foundation,
  options: DeploymentOptions,
  progress: LoadingParts,
): Promise<Deployment | undefined> {
  const { config } = foundation;
  const { kept, modules = MODULES, drive, observer, env, log } = options;
  const { problems } = progress;
  let served: AssembledDeployment | undefined;
  const deployment = (): AssembledDeployment => {
    if (served === undefined) throw new Error("the deployment is not put together yet");
    return served;
  };
  const provisioned = await provisionModules({
    ...{ ...progress, modules, documents: foundation.documents, routes: foundation.routes },
    common: {
      ...kept,
      ...foundation,
      env,
      log,
      drive,
      deployment,
      tokens: foundation.tokens?.verifier,
    },
    features: [
      ...["endpoint-registry", "composition", "external-service"],
      ...(config.attribution.enabled ? ["attribution"] : []),
    ],
  });
  const { contributions, directory } = provisioned;
  const blockers = contributions.flatMap((one) => one.blockers ?? []);
  problems.push(...checkDefaultAgent(config, directory), ...provisioned.problems, ...blockers);
  const approvals = await drive(compilingApprovals(foundation, provisioned));
  problems.push(...approvals.problems);
  const isStopped = config.server.onInvalid === "fail" && problems.some(isError);
  if (isStopped || [...blockers, ...approvals.problems].some(isError)) return undefined;
  const { policy: approvalPolicy } = approvals;
  served = await assemble(foundation, provisioned, { kept, drive, observer, approvalPolicy });
  const obstacles: Problem[] = [];
  for (const one of contributions) {
    obstacles.push(...((await one.complete?.()) ?? []));
    await drive(giveWay());
  }
  problems.push(...obstacles);
  if (obstacles.some(isError)) return undefined;
  return deploymentOf(foundation, provisioned, { ...progress, kept, served });
}

function compilingApprovals(
  { config, names, methodPolicy }: Foundation,
  { directory, routes }: Provisioned,
): Paced<CompiledApprovals> {
  const { approvals, identity } = config.policies;
  return compilingApprovalPolicy(approvals, {
    ...{ file: relative(config.directory, config.file), names, methodPolicy, directory, routes },
    ...{ identity, tls: config.tls, hasConsole: config.console.enabled },
  });
}

interface Assembled extends LoadingParts, Pick<FoundationSources, "kept"> {
  readonly served: AssembledDeployment;
}

function deploymentOf(
  { config, signer, tokens, compiler }: Foundation,
  { contributions, directory, http }: Provisioned,
  { kept, served, untilReplaced, untilIdle }: Assembled,
): Deployment {
  const prepare = async (): Promise<void> => {
    await Promise.all(contributions.map((one) => one.prepare?.()));
  };
  return {
    ...{ config, directory, signer, lifecycle: kept.state.lifecycle, prepare },
    dispatcher: served.dispatcher,
    gateway: http?.gateway(),
    bind: (ports) => http?.bind(ports),
    commit: () => {
      kept.rates.limit(config.limits);
      tokens?.start();
      for (const one of contributions) one.start?.();
    },
    warmUp: async () => {
      const keeping = Promise.all(contributions.map((one) => one.keep?.() ?? []));
      const preparing = async (): Promise<void> => {
        // Each of these has a turn to itself.
        await nextRound();
        await loadCompiledAhead();
        for (const _ of preparingGenerators(compiler)) await nextRound();
        await nextRound();
        for (const one of contributions) one.warmUp?.();
        // A server that stops prepares nothing more; who asks for what cannot be made hears of it.
        const { signal } = kept.stopping;
        void kept.work
          .pace(preparingInputs(served.registry.entries), THE_SERVER, signal)
          .catch(() => undefined);
        void prepare().catch(() => undefined);
      };
      const [found] = await Promise.all([keeping, preparing()]);
      return found.flat();
    },
    documentVersion: () => served.documentVersion(),
    console: contributions.find((one) => one.console !== undefined)?.console,
    commands: new Map(contributions.flatMap((one) => [...(one.commands ?? [])])),
    retire: () => untilReplaced.close(),
    close: () => untilIdle.close(),
  };
}

/**
 * The faults of a deployment that will not be served, because of its configuration or its catalog: the
 * rest of it is looked at all the same, so that an operator learns of everything at once. Nothing is kept
 * open or written.   AGTP-API §13.2
 */
export async function surveyDeployment(
  config: Config,
  env: Environment,
  drive: Drive,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  const { vocabulary } = readVocabulary(config, problems);
  const agents = (await drive(loadingOperatorAgents(config, problems))) ?? [];
  const speaker = chooseGatewayAgent(config, agents);
  if (speaker.kind === "refused") problems.push(speaker.problem);
  const { oauth } = config.policies;
  if (oauth !== undefined) {
    problems.push(...checkKeySource(oauth, relative(config.directory, config.file)));
  }
  return [...problems, ...(await surveyContents(config, vocabulary, { env, drive }))];
}

/** The faults of endpoints and recipes that will not be served. */
async function surveyContents(
  config: Config,
  vocabulary: ServerVocabulary,
  { env, drive }: Pick<DeploymentOptions, "env" | "drive">,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  const contents = await drive(loadingContents(config, vocabulary, env, problems));
  const pools = await openUpstreamPools(contents.endpoints);
  // How they end says nothing of the files.
  const ends = new ModuleEnds(() => undefined);
  const bound = await bindOperatorRoutes({
    endpoints: contents.endpoints,
    unserved: contents.unserved,
    recipes: contents.recipes,
    methodPolicy: vocabulary.methodPolicy,
    loader: withProcesses(createModuleLoader({ root: config.handlers.root, ends }), {
      names: config.processes.map(({ name }) => name),
      find: () => ({ handler: never, call: never }),
    }),
    pools,
    mcpServers: namedServers(config),
    drive,
    handlerTimeoutMs: config.limits.handlerTimeoutMs,
  });
  await Promise.all([pools.close(), ends.close()]);
  return [...problems, ...bound.problems];
}

/** Endpoints that are never called are bound to it. */
function never(): never {
  throw new Error("nothing is served");
}

/** Servers by name, to bind endpoints that are never called. */
function namedServers({ mcp }: Config): McpServers {
  const names = mcp.servers.map(({ name }) => name);
  return {
    names,
    timeoutMs: () => undefined,
    bind: ({ server }) => (names.includes(server) ? never : undefined),
  };
}
