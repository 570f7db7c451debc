/**
 * The base of a deployment, which its modules build on: who is known, who signs and verifies, and
 * the operator's own endpoints, bound to what realises them.   AGTP-API §6.1
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

/** A module that takes longer is told of: everybody's reload waits for it. */
const SLOW_MODULE_MS = 2_000;

interface Closable {
  close(): Promise<unknown>;
}

/** Everything that a deployment holds open, noted as it is opened, so that nothing is left whatever comes of it. */
export class Disposables {
  readonly #all = new Set<Closable>();

  add<T extends Closable>(one: T): T {
    this.#all.add(one);
    return one;
  }

  /** Closes everything; what is closed already may be closed again. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((one) => one.close()));
  }
}

/** The parts of the process that a deployment uses. */
export interface FoundationSources {
  readonly env: Environment;
  readonly kept: ProcessState;
  readonly log: ModuleContext["log"];
  /** Drives the loading; a reload lets others have their turn in between. */
  readonly drive: Drive;
  /** Set where the configuration is refused. */
  readonly doubts?: Doubts | undefined;
}

/** The problems found so far, and the parts that have to be closed. */
export interface LoadingParts {
  readonly problems: Problem[];
  /** Ends when another deployment is served. */
  readonly untilReplaced: Disposables;
  /** Ends with the last request. */
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
  /** The handler modules' own. */
  readonly ends: ModuleEnds;
  /** False when a problem of keys stops the start. */
  readonly isSound: boolean;
}

/** Lays the foundation of a deployment; a problem keeps nothing else from being looked at. */
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

/** The configuration's check has made sure that a key that is named can be read. */
export function loadSigningKey({ signing: { key } }: Config): KeyObject | undefined {
  if (key === undefined) return undefined;
  const { text } = readBoundedFile(key, MAX_KEY_BYTES);
  return text === undefined ? undefined : readPrivateKey(text);
}

const MAX_KEY_BYTES = 65_536;

/** Undefined where `[policies.oauth]` is not configured. */
async function openTokens(
  { policies: { oauth }, directory, file }: Config,
  { kept, log }: Pick<FoundationSources, "kept" | "log">,
): Promise<OpenedVerifier | undefined> {
  if (oauth === undefined) return undefined;
  const { clock } = kept.state;
  return openTokenVerifier({ oauth, file: relative(directory, file), log, clock });
}

/** Its standing is shown to everybody, so it must be one that everybody may learn of. */
export function defaultAgent(
  { agents }: Config,
  directory: AgentDirectory,
): AgentDocument | undefined {
  if (agents.default === undefined || agents.disclosure !== "public") return undefined;
  return directory.resolve(agents.default);
}

/** The operator's agents, one a step; not sound when the configuration's own keys cannot be read. */
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

/** The fault of the agent that is addressed where a request names none. */
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
 * Stand-ins for what a refused configuration does not name, though it may be meant to: endpoints are
 * bound to them, and never called.
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

/** The servers, and any other that an endpoint names. */
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
