/**
 * Everything between the files of a deployment and a dispatcher, built completely before anything
 * is served. All problems are collected; which of them stop the start is decided here.
 * AGTP-API "Validation Timing"
 */

import type { Config } from "../base/config.ts";
import { turn } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import { Deadlines } from "../dispatch/deadlines.ts";
import {
  createDispatcher,
  type Dispatcher,
  type InnerEntrance,
  type Observer,
} from "../dispatch/dispatcher.ts";
import type { Route } from "../dispatch/route.ts";
import { buildRegistry, type EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { BoundPorts } from "../modules/gateway/api-listing.ts";
import type { Gateway } from "../modules/gateway/gateway.ts";
import type { LifecycleRegister } from "../state/lifecycle-register.ts";
import type { RecordSigner } from "../state/signer.ts";
import {
  type DeploymentParts,
  loadParts,
  type PartSources,
  type Progress,
} from "./deployment-parts.ts";
import { buildSidecar } from "./gateway-parts.ts";
import { callerStateOf, defaultAgent } from "./identity-parts.ts";
import { Opened } from "./opened.ts";
import type { OpenwopAgents } from "./openwop-agents.ts";
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
  /** Makes what takes long to make: awaited before the deployment takes the place of another. */
  prepare(): Promise<void>;
  /** Writes what outlives the process: called when the deployment is served, and not before. */
  commit(): Promise<readonly Problem[]>;
  /** Ends what its last requests can do without: another deployment is served. */
  retire(): Promise<void>;
  /** Ends what the deployment holds open, once its running requests are done. */
  close(): Promise<void>;
}

/** What a deployment takes from the process it is served by. */
export interface DeploymentOptions extends PartSources {
  readonly observer: Observer;
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
  const opened = new Opened();
  let deployment: Deployment | undefined;
  try {
    const parts = await loadParts(config, vocabulary, options, { problems, opened });
    deployment = parts && (await assemble(parts, options, { problems, opened }));
  } finally {
    if (deployment === undefined) await opened.close();
  }
  return { deployment, problems };
}

/** Undefined when the sidecar cannot be had. */
async function assemble(
  parts: DeploymentParts,
  options: DeploymentOptions,
  { problems, opened }: Progress,
): Promise<Deployment | undefined> {
  const { config, directory, known, tokens, signer, negotiation, protocol, ending } = parts;
  const { ledger, lifecycle } = options.state;
  const routes = [...protocol.routes, ...parts.operatorRoutes];
  const { registry } = await options.drive(buildRegistry<Route>(routes));
  await options.drive(turn());
  const dispatcher = pipelineOf(parts, registry, options);
  await options.drive(turn());
  protocol.join(dispatcher);
  parts.join(dispatcher, registry);
  problems.push(...parts.openwop.findLostTools(registry));
  const { gatewayAgent: agent, isGatewayIssued: isAgentIssued } = known;
  const sidecar =
    agent &&
    (await buildSidecar({
      ...{ ...parts, dispatcher, registry, agent, isAgentIssued },
      ...{ faces: protocol.faces, listed: protocol.listed, toll: options.floor.toll },
      settle: (done) => ledger.settle(done),
      reportFault: options.reportFault,
    }));
  if (sidecar?.problem !== undefined) {
    problems.push(sidecar.problem);
    return undefined;
  }
  const gateway = sidecar?.gateway;
  if (gateway !== undefined) ending.add(gateway);
  return {
    ...{ config, dispatcher, directory, signer, lifecycle, openwop: parts.openwop, gateway },
    bind: (ports) => parts.apis.bind(ports),
    prepare: () => protocol.prepare(),
    commit: () => {
      options.floor.rates.limit(config.limits);
      tokens?.start();
      negotiation.start();
      protocol.start();
      // Whoever asks for what cannot be made hears of it.
      void protocol.prepare().catch(() => undefined);
      return protocol.keep();
    },
    retire: () => ending.close(),
    close: () => opened.close(),
  };
}

function pipelineOf(
  parts: DeploymentParts,
  registry: EndpointRegistry<Route>,
  { state, floor, observer }: DeploymentOptions,
): Dispatcher & InnerEntrance {
  const { config, directory, attributor, tokens } = parts;
  const { policies, limits, attribution, server } = config;
  return createDispatcher({
    ...{ catalog: parts.catalog, names: parts.names, methodPolicy: parts.methodPolicy },
    ...{ serverId: server.serverId, policies, registry, directory, observer },
    defaultAgent: defaultAgent(config, directory),
    standing: callerStateOf(state, floor.tasks),
    attributor: attribution.enabled ? attributor : undefined,
    tokens: tokens?.verifier,
    delegations: parts.protocol.delegations,
    negotiation: parts.negotiation.gate(registry),
    deadlines: new Deadlines(limits.handlerTimeoutMs),
    ...{ rates: floor.rates, time: floor.time },
    idempotency: state.idempotency,
  });
}
