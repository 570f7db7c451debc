/**
 * The foundation of a deployment, which its modules build on: agents, keys, token verification, and
 * the operator's endpoints with their handlers.   AGTP-API §6.1
 */
import type { KeyObject } from "node:crypto";
import { relative } from "node:path";
import { readBoundedFile } from "../base/bounded-file.ts";
import type { Environment } from "../base/environment.ts";
import type { Drive, Paced } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import type { ModuleContext, ServerVocabulary } from "../dispatch/module/module.ts";
import type { ProcessState } from "../dispatch/process-state.ts";
import type { Route } from "../dispatch/routes/route.ts";
import type { UnservedHandler } from "../endpoint/load-endpoints.ts";
import type { McpServers } from "../handlers/call-upstream.ts";
import { ModuleEnds } from "../handlers/module-ends.ts";
import {
  createModuleLoader,
  type ModuleLoader,
  NO_PROCESSES,
  withProcesses,
} from "../handlers/module-loader.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { readPrivateKey } from "../identity/ed25519.ts";
import { loadingAgents } from "../identity/load-agents.ts";
import { readTrustedIssuers } from "../identity/trusted-issuers.ts";
import { Attributor } from "../state/records/ledger.ts";
import { openSealer } from "../state/records/open-sealer.ts";
import { createRecordSigner, type RecordSigner } from "../state/records/sealer.ts";
import type { Config } from "./config/config.ts";
import type { Doubts } from "./config/doubts.ts";
import {
  bindOperatorRoutes,
  loadingContents,
  openMcpServers,
  openUpstreamPools,
  startProcesses,
} from "./contents.ts";
import { type OpenedVerifier, openTokenVerifier } from "./jwks/keys.ts";

/** The load time after which a module is reported, since every reload waits for it. */
const SLOW_MODULE_MS = 2_000;

interface Closable {
  close(): Promise<unknown>;
}

/** The resources that a deployment opens, collected so that all of them are closed in any case. */
export class Disposables {
  readonly #all = new Set<Closable>();

  add<T extends Closable>(one: T): T {
    this.#all.add(one);
    return one;
  }

  /** Closes all resources; those that are already closed accept it. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((one) => one.close()));
  }
}

/** The parts of the process that a deployment uses. */
export interface FoundationSources {
  readonly env: Environment;
  readonly kept: ProcessState;
  readonly log: ModuleContext["log"];
  /** Runs the steps of loading; during a reload it yields to requests in between. */
  readonly drive: Drive;
  /** Set if the configuration is refused. */
  readonly doubts?: Doubts | undefined;
}

/** The problems found so far, and the resources to close. */
export interface LoadingParts {
  readonly problems: Problem[];
  /** Closed when another deployment serves. */
  readonly untilReplaced: Disposables;
  /** Closed after the last request. */
  readonly untilIdle: Disposables;
}

export interface Foundation
  extends ServerVocabulary,
    Pick<
      ModuleContext,
      "compiler" | "recipes" | "loader" | "signingKey" | "attributor" | "mcpServers" | "processes"
    > {
  readonly config: Config;
  readonly documents: readonly AgentDocument[];
  readonly tokens: OpenedVerifier | undefined;
  readonly signer: RecordSigner;
  readonly routes: readonly Route[];
  /** The end hooks of handler modules. */
  readonly ends: ModuleEnds;
  /** False if a problem with keys stops the start. */
  readonly isSound: boolean;
}

/** Loads the foundation of a deployment, and goes on after problems. */
export async function layFoundation(
  config: Config,
  vocabulary: ServerVocabulary,
  { env, kept, log, drive, doubts }: FoundationSources,
  { problems, untilReplaced, untilIdle }: LoadingParts,
): Promise<Foundation> {
  const { documents, isSound: isTrustSound } = await drive(loadingOperatorAgents(config, problems));
  const tokens = await openTokens(config, { kept, log });
  if (tokens?.verifier !== undefined) untilIdle.add(tokens.verifier);
  const ofTokens = tokens?.problems ?? [];
  problems.push(...ofTokens);
  const signingKey = loadSigningKey(config);
  const signer = createRecordSigner(signingKey);
  const sealer = untilReplaced.add(openSealer(signer, signingKey));
  const { serverId } = config.server;
  const attributor = new Attributor({ serverId, sealer, ledger: kept.state.ledger });
  const contents = await drive(loadingContents(config, vocabulary, env, problems, doubts));
  const { compiler, recipes, endpoints, unserved, isWhole } = contents;
  const processes = await startProcesses(config, { env, kept, log }, problems);
  if (processes !== undefined) {
    untilIdle.add(processes);
    untilReplaced.add({ close: async () => processes.retire() });
  }
  const tell = (message: string): void => log.warn({ event: "module-slow" }, message);
  const onSlow = { afterMs: SLOW_MODULE_MS, tell };
  const ends = untilIdle.add(new ModuleEnds((fault) => log.warn({ event: "module-end" }, fault)));
  untilReplaced.add({ close: async () => ends.retire() });
  const modules = createModuleLoader({ root: config.handlers.root, onSlow, ends });
  const whole = withProcesses(modules, processes ?? NO_PROCESSES);
  const loader = doubts === undefined ? whole : withoutDoubtful(whole, config, doubts);
  const pools = untilIdle.add(await openUpstreamPools(endpoints));
  const mcpServers = await openMcpServers(config, kept, log);
  if (mcpServers !== undefined) {
    untilIdle.add(mcpServers);
    untilReplaced.add({ close: async () => mcpServers.retire() });
  }
  const bound = await bindOperatorRoutes({
    ...{
      endpoints,
      unserved,
      isWhole,
      recipes,
      loader,
      pools,
      drive,
      methodPolicy: vocabulary.methodPolicy,
    },
    mcpServers: doubts?.isAbout("mcp")
      ? withEveryServer(mcpServers, [...endpoints.map(({ definition }) => definition), ...unserved])
      : mcpServers,
    handlerTimeoutMs: config.limits.handlerTimeoutMs,
    work: kept.work,
  });
  problems.push(...bound.problems);
  return {
    ...{ config, ...vocabulary, documents, tokens, signingKey, signer, attributor },
    ...{ compiler, recipes, loader, mcpServers, processes, routes: bound.routes, ends },
    isSound: isTrustSound && !ofTokens.some(isError),
  };
}

/** Loads the signing key; the configuration check has ensured that a named key is readable. */
export function loadSigningKey({ signing: { key } }: Config): KeyObject | undefined {
  if (key === undefined) return undefined;
  const { text } = readBoundedFile(key, MAX_KEY_BYTES);
  return text === undefined ? undefined : readPrivateKey(text);
}

const MAX_KEY_BYTES = 65_536;

/** Undefined without `[policies.oauth]`. */
async function openTokens(
  { policies: { oauth }, directory, file }: Config,
  { kept, log }: Pick<FoundationSources, "kept" | "log">,
): Promise<OpenedVerifier | undefined> {
  if (oauth === undefined) return undefined;
  const { clock } = kept.state;
  return openTokenVerifier({ oauth, file: relative(directory, file), log, clock });
}

/** Returns the default agent; everybody sees its trust fields, so it must be a public one. */
export function defaultAgent(
  { agents }: Config,
  directory: AgentDirectory,
): AgentDocument | undefined {
  if (agents.default === undefined || agents.disclosure !== "public") return undefined;
  return directory.resolve(agents.default);
}

/** Loads the operator's agents, one a step; not sound if a key of the configuration cannot be read. */
export function* loadingOperatorAgents(
  config: Config,
  problems: Problem[],
): Paced<{ readonly documents: readonly AgentDocument[]; readonly isSound: boolean }> {
  const issuers = readTrustedIssuers({
    trustedIssuers: config.policies.identity.trustedIssuers,
    signingKey: config.signing.key,
    file: relative(config.directory, config.file),
  });
  const { documents, problems: found } = yield* loadingAgents({
    directory: config.directory,
    agentsDir: config.agents.dir,
    trustedIssuers: issuers.keys,
  });
  problems.push(...issuers.problems, ...found);
  return { documents, isSound: !issuers.problems.some(isError) };
}

/** Returns the problem of the default agent's name. */
export function checkDefaultAgent(
  { agents, directory, file }: Config,
  known: AgentDirectory,
): readonly Problem[] {
  const name = agents.default;
  if (name === undefined || known.resolve(name) !== undefined) return [];
  const message = `no agent is called "${name}"`;
  return [{ file: relative(directory, file), key: "agents.default", message, severity: "warning" }];
}

function never(): never {
  throw new Error("nothing is served");
}

/**
 * Replaces doubtful parts of a refused configuration by stand-ins, so that endpoints can be bound;
 * they are never called.
 */
function withoutDoubtful(
  loader: ModuleLoader,
  { processes }: Config,
  doubts: Doubts,
): ModuleLoader {
  const isLost = (reference: string): boolean => {
    const [process = "", name] = reference.split(":", 2);
    if (name === undefined) return doubts.isAbout("handlers");
    return doubts.isAbout("processes") && processes.every((one) => one.name !== process);
  };
  return {
    load: async (reference, place) =>
      isLost(reference) ? { handler: never, problems: [] } : loader.load(reference, place),
  };
}

/** Adds the servers that only endpoints name, so that these can be bound. */
function withEveryServer(
  servers: McpServers | undefined,
  handlers: readonly UnservedHandler[],
): McpServers {
  const named = handlers.flatMap(({ handler }) =>
    handler.type === "mcp_tool" ? [handler.server] : [],
  );
  return {
    names: [...new Set([...(servers?.names ?? []), ...named])],
    timeoutMs: (name) => servers?.timeoutMs(name),
    bind: (binding, schema) => servers?.bind(binding, schema) ?? never,
  };
}
