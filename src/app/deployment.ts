/**
 * Builds a whole deployment from its files, up to the dispatcher, before any of it is served.
 * Problems are collected, and it is decided here which of them stop the start.   AGTP-API "Validation
 * Timing"
 */

import { relative } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";
import { giveWay, type Paced } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import { THE_SERVER } from "../base/task-queue.ts";
import {
  type CompiledApprovals,
  compilingApprovalPolicy,
} from "../dispatch/approvals/approval-problems.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { BoundPorts, ConsoleSide, Gateway } from "../dispatch/module/http-gateway.ts";
import type { AssembledDeployment } from "../dispatch/module/module.ts";
import type { Observer } from "../dispatch/observer.ts";
import { warningOfUnreached } from "../dispatch/policy/unreached-endpoints.ts";
import { preparingInputs } from "../dispatch/routes/protocol-endpoint.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import { loadCompiledAhead, preparingGenerators } from "../schema/schema.ts";
import type { ControlCommand } from "../server/control-socket.ts";
import type { RecordSigner } from "../state/records/sealer.ts";
import type { LifecycleRegister } from "../state/registers/lifecycle-register.ts";
import { assemble } from "./assemble.ts";
import type { Config } from "./config/config.ts";
import type { Doubts } from "./config/doubts.ts";
import { readVocabulary } from "./contents.ts";
import {
  checkDefaultAgent,
  Disposables,
  type Foundation,
  type FoundationSources,
  type LoadingParts,
  layFoundation,
} from "./foundation.ts";
import { MODULES } from "./modules.ts";
import { type AnyModule, type Provisioned, provisionModules } from "./provision.ts";

export interface Deployment {
  readonly config: Config;
  readonly dispatcher: Dispatcher;
  readonly directory: AgentDirectory;
  readonly signer: RecordSigner;
  readonly lifecycle: Pick<LifecycleRegister, "statusOf">;
  /** Undefined if HTTP clients are not served. */
  readonly gateway: Gateway | undefined;
  /** Undefined if no console is served. */
  readonly console: ConsoleSide | undefined;
  readonly commands: ReadonlyMap<string, ControlCommand>;
  /** Sets the ports that the deployment is served on; called before `commit`. */
  bind(ports: BoundPorts): void;
  /** Returns the manifest's `document_version`; undefined without a manifest. */
  documentVersion(): Promise<string | undefined>;
  /** Does slow preparation; awaited before the deployment replaces another. */
  prepare(): Promise<void>;
  /** Starts what runs while the deployment serves; called only when it begins to. */
  commit(): void;
  /**
   * Does work that the first requests would otherwise wait for, in turns with requests, and writes
   * state that outlives the process. Called after `commit`, once the start or reload was reported.
   */
  warmUp(): Promise<readonly Problem[]>;
  /** Ends what its last requests can do without; called when another deployment serves. */
  retire(): Promise<void>;
  /** Closes everything the deployment holds open, once its running requests are done. */
  close(): Promise<void>;
}

/** The parts that a deployment gets from its process. */
export interface DeploymentOptions extends FoundationSources {
  readonly observer: Observer;
  /** The modules to build; `MODULES` by default. */
  readonly modules?: readonly AnyModule[];
}

/** A deployment, with all problems of its files. */
export interface LoadedDeployment {
  /** Undefined if a problem stops the start. */
  readonly deployment: Deployment | undefined;
  readonly problems: readonly Problem[];
}

/**
 * Loads, compiles and binds a whole deployment, and goes on after a problem that stops the start,
 * so that all are found. Writes nothing but the identities that it issues.   AGTP-API §13.2
 */
export async function loadDeployment(
  config: Config,
  options: DeploymentOptions,
): Promise<LoadedDeployment> {
  const problems: Problem[] = [];
  const { vocabulary, isSound } = readVocabulary(config, problems, options.doubts);
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
    deployment = await provisionAndAssemble(
      { ...foundation, isSound: isSound && foundation.isSound },
      options,
      progress,
    );
  } finally {
    if (deployment === undefined) await untilIdle.close();
  }
  return { deployment, problems };
}

/** Undefined if a problem stops the start. */
async function provisionAndAssemble(
  foundation: Foundation,
  options: DeploymentOptions,
  progress: LoadingParts,
): Promise<Deployment | undefined> {
  const { config } = foundation;
  const { kept, modules = MODULES, drive, observer, env, log, doubts } = options;
  const { problems } = progress;
  let served: AssembledDeployment | undefined;
  const deployment = (): AssembledDeployment => {
    if (served === undefined) throw new Error("the deployment is not put together yet");
    return served;
  };
  const provisioned = await provisionModules({
    ...{ ...progress, documents: foundation.documents, routes: foundation.routes },
    modules: modules.filter(({ name }) => !doubts?.isAboutTable(name)),
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
  const isWhole = doubts === undefined && !problems.some(isError);
  const approvals = await drive(compilingApprovals(foundation, provisioned, { isWhole, doubts }));
  problems.push(...approvals.problems);
  if (isWhole) problems.push(...(await drive(unreached(foundation, provisioned))));
  const isStopped = config.server.onInvalid === "fail" && problems.some(isError);
  const isBlocked = [...blockers, ...approvals.problems].some(isError);
  if (!foundation.isSound || isStopped || isBlocked) return undefined;
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
  { isWhole, doubts }: { readonly isWhole: boolean; readonly doubts: Doubts | undefined },
): Paced<CompiledApprovals> {
  const { approvals, identity } = config.policies;
  const isUnclear = ["console", "tls", "policies"].some((section) => doubts?.isAbout(section));
  return compilingApprovalPolicy(approvals, {
    ...{ file: relative(config.directory, config.file), names, methodPolicy, directory, routes },
    ...{ identity, tls: config.tls, isWhole },
    hasConsole: config.console.enabled || isUnclear,
  });
}

function unreached(
  { config, methodPolicy, routes }: Foundation,
  { registry }: Provisioned,
): Paced<readonly Problem[]> {
  return warningOfUnreached({
    ...{ policy: methodPolicy, routes, registry, redirects: config.policies.methods.redirects },
    file: relative(config.directory, config.file),
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
        // Each module's work gets a turn of its own.
        await nextRound();
        await loadCompiledAhead();
        for (const _ of preparingGenerators(compiler)) await nextRound();
        await nextRound();
        for (const one of contributions) one.warmUp?.();
        // A stopping server prepares nothing more; requests for unprepared parts say so.
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
