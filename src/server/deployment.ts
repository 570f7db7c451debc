/**
 * Everything between the files of a deployment and a dispatcher, built completely before anything
 * is served. All problems are collected; which of them stop the start is decided here.
 * AGTP-API "Validation Timing"
 */
import { Attributor } from "../attribution/attributor.ts";
import type { LifecycleRegister } from "../attribution/lifecycle-register.ts";
import { openSealer } from "../attribution/open-sealer.ts";
import { createRecordSigner, type RecordSigner } from "../attribution/signer.ts";
import type { ServerState } from "../attribution/state.ts";
import type { Config } from "../config/config.ts";
import { createRegistry } from "../contract/endpoint-registry.ts";
import { Deadlines } from "../dispatch/deadlines.ts";
import { createDispatcher, type Dispatcher, type Observer } from "../dispatch/dispatcher.ts";
import type { Route } from "../dispatch/route.ts";
import type { Environment } from "../environment.ts";
import { ApiListing, type BoundPorts } from "../gateway/api-listing.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { CallLog } from "../handlers/handler.ts";
import { createModuleLoader } from "../handlers/module-loader.ts";
import { type AgentDirectory, createAgentDirectory } from "../identity/agent-directory.ts";
import { isError, type Problem } from "../problem.ts";
import type { NegotiationState } from "../synthesis/state.ts";
import { loadAgentcliTasks } from "./agentcli.ts";
import { loadAgntcyAgents } from "./agntcy.ts";
import { loadContents, openUpstreamPools } from "./contents.ts";
import type { FloorState } from "./floor-state.ts";
import { buildSidecar } from "./gateway-parts.ts";
import {
  checkDefaultAgent,
  defaultAgent,
  loadIdentities,
  loadSigningKey,
  openTokens,
  standingOf,
} from "./identity-parts.ts";
import { createNegotiation } from "./negotiation.ts";
import { loadOpenwopAgents, type OpenwopAgents } from "./openwop-agents.ts";
import { bindOperatorRoutes } from "./operator-routes.ts";
import { loadProtocolRoutes } from "./protocol-routes.ts";
import { surveyDeployment } from "./survey.ts";
import { loadVocabulary } from "./vocabulary.ts";

/** A deployment that can be served. */
export interface Deployment {
  readonly config: Config;
  readonly dispatcher: Dispatcher;
  readonly directory: AgentDirectory;
  readonly signer: RecordSigner;
  readonly lifecycle: Pick<LifecycleRegister, "statusOf">;
  /** The agents that this server runs, for whoever runs them. */
  readonly openwop: OpenwopAgents;
  /** Undefined: HTTP clients are not served. */
  readonly gateway: Gateway | undefined;
  /** Says where the deployment is served; before `commit`. */
  bind(ports: BoundPorts): void;
  /** Writes what outlives the process: called when the deployment is served, and not before. */
  commit(): readonly Problem[];
  /** Ends what its last requests can do without: another deployment is served. */
  retire(): Promise<void>;
  /** Ends what the deployment holds open, once its running requests are done. */
  close(): Promise<void>;
}

/** What a deployment takes from the process it is served by. */
export interface DeploymentOptions {
  readonly observer: Observer;
  readonly env: Environment;
  readonly state: ServerState;
  readonly negotiation: NegotiationState;
  readonly floor: FloorState;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** A fault beside the pipeline, under the id that its caller was told. */
  reportFault(errorId: string, error: unknown): void;
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
    return { deployment: undefined, problems: await surveyDeployment(config, options.env) };
  }

  const { state, floor } = options;
  const known = await loadIdentities(config, floor.store, problems);
  if (known === undefined) return { deployment: undefined, problems };
  const { operators, gatewayAgent } = known;
  const tokens = await openTokens(config, options.log);
  problems.push(...(tokens?.problems ?? []));
  if (tokens?.problems.some(isError)) return { deployment: undefined, problems };
  const signingKey = loadSigningKey(config);
  const signer = createRecordSigner(signingKey);
  const { ledger } = state;
  const sealer = openSealer(signer, signingKey);
  const attributor = new Attributor({ serverId: config.server.serverId, sealer, ledger });
  const contents = loadContents(config, vocabulary, options.env, problems);
  const pools = await openUpstreamPools(contents.endpoints);
  const loader = createModuleLoader({ root: config.handlers.root });
  const operator = await bindOperatorRoutes({
    endpoints: contents.endpoints,
    recipes: contents.recipes,
    methodPolicy: vocabulary.methodPolicy,
    loader,
    pools,
    handlerTimeoutMs: config.limits.handlerTimeoutMs,
  });
  const { log, negotiation: kept } = options;
  const openwop = await loadOpenwopAgents({
    ...{ config, env: options.env, store: floor.store, state, signingKey, loader, log },
    operators,
    endpoints: operator.routes.map(({ definition }) => definition),
  });
  const agentcli = await loadAgentcliTasks({
    ...{ config, env: options.env, floor, log, names: vocabulary.names, signingKey },
    ...{ compiler: contents.compiler, operatorRoutes: operator.routes },
    operators,
  });
  const identified = [...operators, ...openwop.documents, ...agentcli.documents];
  const ownRoutes = [...operator.routes, ...openwop.routes, ...agentcli.routes];
  const agntcy = await loadAgntcyAgents({
    ...{ config, ...vocabulary, env: options.env, store: floor.store, signingKey, log },
    ...{
      kept: floor.agntcy,
      stopping: floor.stopping.signal,
      lifecycle: state.lifecycle,
      operators: identified,
    },
    endpoints: ownRoutes.map(({ definition }) => definition),
  });
  const directory = createAgentDirectory(agntcy.documents);
  const operatorRoutes = [...ownRoutes, ...agntcy.routes];
  problems.push(...checkDefaultAgent(config, directory), ...operator.problems, ...openwop.problems);
  problems.push(...agentcli.problems, ...agntcy.problems);
  const isFatal =
    !openwop.isSound || (config.server.onInvalid === "fail" && problems.some(isError));

  const joined = {
    config,
    ...vocabulary,
    directory,
    state,
    attributor,
    signingKey,
    compiler: contents.compiler,
    recipes: contents.recipes,
    operatorRoutes,
    loader,
    apis: new ApiListing(config),
  };
  const negotiation = createNegotiation({ ...joined, negotiation: kept, log });
  const hosted = { openwop, agntcy };
  const protocol = await loadProtocolRoutes({ ...joined, ...hosted, negotiation, floor, log });
  problems.push(...protocol.problems, ...protocol.skipped);
  const isStopped = config.server.onInvalid === "fail" && protocol.skipped.some(isError);
  if (isFatal || isStopped || protocol.problems.some(isError)) {
    await Promise.all([pools.close(), openwop.close(), agntcy.close()]);
    return { deployment: undefined, problems };
  }
  await Promise.all([openwop, agentcli, agntcy, known].map((one) => one.keep()));

  const { registry } = createRegistry<Route>([...protocol.routes, ...operatorRoutes]);
  agentcli.join(registry);
  const deadlines = new Deadlines(config.limits.handlerTimeoutMs);
  const dispatcher = createDispatcher({
    ...vocabulary,
    serverId: config.server.serverId,
    policies: config.policies,
    registry,
    directory,
    defaultAgent: defaultAgent(config, directory),
    standing: standingOf(state, floor.tasks),
    attributor: config.attribution.enabled ? attributor : undefined,
    tokens: tokens?.verifier,
    delegations: protocol.delegations,
    negotiation: negotiation.gate(registry),
    deadlines,
    idempotency: state.idempotency,
    observer: options.observer,
  });
  protocol.join(dispatcher);
  openwop.join(dispatcher, registry);
  const sidecar =
    gatewayAgent === undefined
      ? undefined
      : await buildSidecar({
          ...joined,
          ...{ dispatcher, registry, agent: gatewayAgent, isAgentIssued: known.isGatewayIssued },
          ...{ faces: protocol.faces, listed: protocol.listed },
          settle: (done) => ledger.settle(done),
          reportFault: options.reportFault,
        });
  if (sidecar?.problem !== undefined) {
    problems.push(sidecar.problem);
    await Promise.all([pools.close(), openwop.close(), agntcy.close(), protocol.close()]);
    return { deployment: undefined, problems };
  }
  const gateway = sidecar?.gateway;
  const deployment: Deployment = {
    config,
    dispatcher,
    directory,
    signer,
    lifecycle: state.lifecycle,
    openwop,
    gateway,
    bind: (ports) => joined.apis.bind(ports),
    commit: () => {
      tokens?.start();
      negotiation.start();
      protocol.start();
      return protocol.keep();
    },
    retire: async () => {
      await Promise.all([sealer.close(), gateway?.close(), protocol.close()]);
    },
    close: async () => {
      await Promise.all([
        pools.close(),
        openwop.close(),
        agntcy.close(),
        tokens?.verifier?.close(),
        sealer.close(),
        gateway?.close(),
        protocol.close(),
      ]);
    },
  };
  return { deployment, problems };
}
