/**
 * Everything between the files of a deployment and a dispatcher, built completely before anything
 * is served. All problems are collected; which of them stop the start is decided here.
 * AGTP-API "Validation Timing"
 */
import type { KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { Attributor } from "../attribution/attributor.ts";
import type { LifecycleRegister } from "../attribution/lifecycle-register.ts";
import { openSealer } from "../attribution/open-sealer.ts";
import { createRecordSigner, type RecordSigner } from "../attribution/signer.ts";
import type { ServerState } from "../attribution/state.ts";
import { readBoundedFile } from "../bounded-file.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { loadCatalog } from "../catalog/catalog-file.ts";
import { type MethodNames, methodNames } from "../catalog/path-grammar.ts";
import { shippedCatalogPath } from "../catalog/shipped-catalog.ts";
import type { Config } from "../config/config.ts";
import { createRegistry } from "../contract/endpoint-registry.ts";
import { type LoadedEndpoint, loadEndpoints } from "../contract/load-endpoints.ts";
import { createSchemaCompiler, type SchemaCompiler } from "../contract/schema.ts";
import { Deadlines } from "../dispatch/deadlines.ts";
import { createDispatcher, type Dispatcher, type Observer } from "../dispatch/dispatcher.ts";
import type { Standing } from "../dispatch/gates/00-standing.ts";
import { compileMethodPolicy, type MethodPolicy } from "../dispatch/method-policy.ts";
import type { Route } from "../dispatch/route.ts";
import type { Environment } from "../environment.ts";
import type { CallLog } from "../handlers/handler.ts";
import { createModuleLoader } from "../handlers/module-loader.ts";
import type { UpstreamPools } from "../handlers/upstream-pools.ts";
import { type AgentDirectory, createAgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { readPrivateKey } from "../identity/ed25519.ts";
import { loadAgents } from "../identity/load-agents.ts";
import { readTrustedIssuers } from "../identity/trusted-issuers.ts";
import { isError, type Problem } from "../problem.ts";
import type { Recipe } from "../synthesis/recipe.ts";
import { loadRecipes } from "../synthesis/recipe-file.ts";
import type { NegotiationState } from "../synthesis/state.ts";
import { type OpenedVerifier, openTokenVerifier } from "./jwks-verifier.ts";
import { createNegotiation } from "./negotiation.ts";
import { bindOperatorRoutes } from "./operator-routes.ts";
import { loadProtocolRoutes } from "./protocol-routes.ts";

/** A deployment that can be served. */
export interface Deployment {
  readonly config: Config;
  readonly dispatcher: Dispatcher;
  readonly directory: AgentDirectory;
  readonly signer: RecordSigner;
  readonly lifecycle: Pick<LifecycleRegister, "statusOf">;
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
  readonly log: Pick<CallLog, "info" | "warn">;
}

/** A deployment, and everything that is wrong with its files. */
export interface LoadedDeployment {
  /** Undefined when a problem stops the start. */
  readonly deployment: Deployment | undefined;
  readonly problems: readonly Problem[];
}

/** The methods of the server; with a problem in these there is nothing to build on. */
interface Vocabulary {
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
}

/** Loads, compiles and binds a whole deployment. Writes nothing. */
export async function loadDeployment(
  config: Config,
  options: DeploymentOptions,
): Promise<LoadedDeployment> {
  const problems: Problem[] = [];
  const vocabulary = loadVocabulary(config, problems);
  if (vocabulary === undefined) return { deployment: undefined, problems };

  const directory = loadDirectory(config, problems);
  if (directory === undefined) return { deployment: undefined, problems };
  const tokens = await openTokens(config, options);
  problems.push(...(tokens?.problems ?? []));
  if (tokens?.problems.some(isError)) return { deployment: undefined, problems };
  const signingKey = loadSigningKey(config);
  const signer = createRecordSigner(signingKey);
  const { state } = options;
  const { ledger } = state;
  const sealer = openSealer(signer, signingKey);
  const attributor = new Attributor({ serverId: config.server.serverId, sealer, ledger });
  const contents = loadContents(config, vocabulary, options, problems);
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
  problems.push(...operator.problems);
  const isFatal = config.server.onInvalid === "fail" && problems.some(isError);

  const joined = {
    config,
    ...vocabulary,
    directory,
    state,
    attributor,
    signingKey,
    compiler: contents.compiler,
    recipes: contents.recipes,
    operatorRoutes: operator.routes,
    loader,
  };
  const { log, negotiation: kept } = options;
  const negotiation = createNegotiation({ ...joined, negotiation: kept, log });
  const protocol = await loadProtocolRoutes({ ...joined, negotiation });
  problems.push(...protocol.problems);
  if (isFatal || protocol.problems.some(isError)) {
    await pools.close();
    return { deployment: undefined, problems };
  }

  const { registry } = createRegistry<Route>([...protocol.routes, ...operator.routes]);
  const deadlines = new Deadlines(config.limits.handlerTimeoutMs);
  const dispatcher = createDispatcher({
    ...vocabulary,
    serverId: config.server.serverId,
    policies: config.policies,
    registry,
    directory,
    defaultAgent: defaultAgent(config, directory),
    standing: standingOf(state),
    attributor: config.attribution.enabled ? attributor : undefined,
    tokens: tokens?.verifier,
    negotiation: negotiation.gate(registry),
    deadlines,
    idempotency: state.idempotency,
    observer: options.observer,
  });
  const deployment: Deployment = {
    config,
    dispatcher,
    directory,
    signer,
    lifecycle: state.lifecycle,
    commit: () => {
      tokens?.start();
      negotiation.start();
      return protocol.keep();
    },
    retire: () => sealer.close(),
    close: async () => {
      await Promise.all([pools.close(), tokens?.verifier?.close(), sealer.close()]);
    },
  };
  return { deployment, problems };
}

function loadVocabulary(config: Config, problems: Problem[]): Vocabulary | undefined {
  // The configuration let a missing file pass only where the operator named none.
  const path = existsSync(config.catalog.file) ? config.catalog.file : shippedCatalogPath();
  const loaded = loadCatalog(path, relative(config.directory, path));
  problems.push(...loaded.problems);
  const { catalog } = loaded;
  if (catalog === undefined || loaded.problems.some(isError)) return undefined;
  const names = methodNames(catalog, config.policies.methods.custom);
  const file = relative(config.directory, config.file);
  const compiled = compileMethodPolicy({ config: config.policies.methods, catalog, names, file });
  problems.push(...compiled.problems);
  if (compiled.problems.some(isError)) return undefined;
  return { catalog, names, methodPolicy: compiled.policy };
}

/** The configuration's check has made sure that a key that is named can be read. */
function loadSigningKey({ signing: { key } }: Config): KeyObject | undefined {
  if (key === undefined) return undefined;
  const { text } = readBoundedFile(key, MAX_KEY_BYTES);
  return text === undefined ? undefined : readPrivateKey(text);
}

const MAX_KEY_BYTES = 65_536;

/** Undefined where `[policies.oauth]` is not configured. */
async function openTokens(
  { policies: { oauth }, directory, file }: Config,
  { log }: DeploymentOptions,
): Promise<OpenedVerifier | undefined> {
  if (oauth === undefined) return undefined;
  return openTokenVerifier({ oauth, file: relative(directory, file), log });
}

function standingOf({ lifecycle, certificates, sessions }: ServerState): Standing {
  return {
    statusOf: (agent) => lifecycle.statusOf(agent),
    statusSince: (agent) => lifecycle.statusSince(agent),
    isRevoked: (certificate, agentId) => certificates.isRevoked(certificate, agentId),
    admitSession: (sessionId, user) => sessions.admit(sessionId, user),
  };
}

/** Its standing is shown to everybody, so it must be one that everybody may learn of. */
function defaultAgent({ agents }: Config, directory: AgentDirectory): AgentDocument | undefined {
  if (agents.default === undefined || agents.disclosure !== "public") return undefined;
  return directory.resolve(agents.default);
}

/** Undefined when the configuration's own keys cannot be read. */
function loadDirectory(config: Config, problems: Problem[]): AgentDirectory | undefined {
  const issuers = readTrustedIssuers({
    trustedIssuers: config.policies.identity.trustedIssuers,
    signingKey: config.signing.key,
    file: relative(config.directory, config.file),
  });
  const agents = loadAgents({
    directory: config.directory,
    agentsDir: config.agents.dir,
    trustedIssuers: issuers.keys,
  });
  problems.push(...issuers.problems, ...agents.problems);
  problems.push(...checkDefaultAgent(config, agents.documents));
  if (issuers.problems.some(isError)) return undefined;
  return createAgentDirectory(agents.documents);
}

function checkDefaultAgent(
  { agents, directory, file }: Config,
  documents: readonly AgentDocument[],
): readonly Problem[] {
  const name = agents.default;
  const isThere = documents.some((agent) => agent.name === name || agent.agentId === name);
  if (name === undefined || isThere) return [];
  const message = `no agent is called "${name}"`;
  return [{ file: relative(directory, file), key: "agents.default", message, severity: "warning" }];
}

interface Contents {
  readonly compiler: SchemaCompiler;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly endpoints: readonly LoadedEndpoint[];
}

function loadContents(
  config: Config,
  { catalog, names }: Vocabulary,
  { env }: DeploymentOptions,
  problems: Problem[],
): Contents {
  const { directory, policies } = config;
  const compiler = createSchemaCompiler();
  const customMethods = new Set(policies.methods.custom);
  const vocabulary = { directory, catalog, names, customMethods };
  const recipes = loadRecipes({ ...vocabulary, recipesDir: config.recipes.dir });
  const endpoints = loadEndpoints({
    ...vocabulary,
    endpointsDir: config.endpoints.dir,
    env,
    compiler,
    outputValidation: policies.outputValidation,
  });
  problems.push(...recipes.problems, ...endpoints.problems);
  return { compiler, recipes: recipes.recipes, endpoints: endpoints.endpoints };
}

const NO_UPSTREAMS: UpstreamPools = {
  pool: () => {
    throw new Error("no endpoint of this deployment has an upstream");
  },
  close: () => Promise.resolve(),
};

/** The HTTP client takes long to load: only a deployment that has upstreams waits for it. */
async function openUpstreamPools(endpoints: readonly LoadedEndpoint[]): Promise<UpstreamPools> {
  const hasUpstream = endpoints.some(
    ({ definition }) => definition.handler.type === "external_service",
  );
  if (!hasUpstream) return NO_UPSTREAMS;
  const { createUpstreamPools } = await import("../handlers/upstream-pools.ts");
  return createUpstreamPools();
}
