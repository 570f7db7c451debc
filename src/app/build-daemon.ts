/**
 * Builds everything that a daemon serves with from a configuration file. After a problem that stops
 * the start, nothing is left open.
 */

import { type Environment, isUnset } from "../base/environment.ts";
import type { Log } from "../base/log.ts";
import { atOnce, type Drive, giveWay } from "../base/paced.ts";
import { isError, isNewTo, type Problem } from "../base/problem.ts";
import { THE_SERVER } from "../base/task-queue.ts";
import type { ProcessState } from "../dispatch/process-state.ts";
import type { HttpTls } from "../server/http-listener.ts";
import type { TlsIdentity } from "../server/listener.ts";
import type { Intermediates } from "../server/peer-certificate.ts";
import { loadHttpTls, loadTlsIdentity } from "../server/tls-identity.ts";
import { isStoreUnavailable } from "../state/store-fault.ts";
import type { Config } from "./config/config.ts";
import { Doubts } from "./config/doubts.ts";
import { type Draft, type LoadedConfig, loadConfig } from "./config/load.ts";
import {
  type Deployment,
  type DeploymentOptions,
  type LoadedDeployment,
  loadDeployment,
} from "./deployment.ts";
import { createObserver } from "./observer.ts";
import type { AnyModule } from "./provision.ts";
import {
  openServerState,
  type StateOpening,
  type StateWatch,
  storeFault,
  watchState,
} from "./server-state.ts";

/** The options that a daemon is started with. */
export interface DaemonOptions {
  readonly configPath: string;
  /** Override `[server] host` and `port`. */
  readonly host?: string;
  readonly port?: number;
  readonly env: Environment;
  readonly log: Log;
  /** The modules of the deployment; all of `MODULES` unless given. */
  readonly modules?: readonly AnyModule[];
  /** The place of this process among those of one daemon; undefined for a single process. */
  readonly place?: ProcessPlace;
}

/** The place of a process among those of a daemon, whose parent holds the store and the journal. */
interface ProcessPlace {
  openState(config: Config, watch: StateWatch): Promise<StateOpening>;
  /** False if another process has the HTTP listeners. */
  readonly servesHttp: boolean;
  /** Returns the 48 octets that all processes share. */
  readonly ticketKeys: () => Buffer;
  /** The intermediate certificates that any of the processes verified. */
  readonly intermediates: Intermediates;
  /** Returns this process's share of a bound of the whole daemon. */
  shareOf(bound: number): number;
}

/** A start that was refused, with its problems. */
export interface Refused {
  readonly kind: "refused";
  readonly problems: readonly Problem[];
  /** True if the journal prevents the start, and the configured console can show it. */
  readonly isInspectable?: boolean;
}

export interface Built {
  readonly kind: "built";
  readonly deployment: Deployment;
  readonly kept: ProcessState;
  readonly identity: TlsIdentity;
  readonly fingerprint256: string;
  /** The sidecar's certificate and key; undefined for plain HTTP, or without a sidecar. */
  readonly httpTls: HttpTls | undefined;
  /** The console's certificate and key; undefined for plain HTTP, or without a console. */
  readonly consoleTls: HttpTls | undefined;
  readonly problems: readonly Problem[];
}

interface BuildOptions {
  /** True if missing files may be created and existing ones written. */
  readonly isPersistent: boolean;
  /** The state of the daemon that is being reloaded. */
  readonly kept?: ProcessState;
  readonly loaded?: LoadedConfig;
}

/** Loads the configuration of a daemon, with the overrides of its command line. */
export function loadFor({ configPath, env, host, port }: DaemonOptions): LoadedConfig {
  const overrides = {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
  };
  return loadConfig(configPath, env, overrides);
}

/** Builds everything that a daemon serves with, or returns every problem that prevents it. */
export async function buildDaemon(
  options: DaemonOptions,
  { isPersistent, kept: before, loaded: read }: BuildOptions,
): Promise<Built | Refused> {
  const { log, modules, place } = options;
  const drive = before === undefined ? atOnce : untilStopping(before);
  const { config, draft, problems, environment: env } = read ?? loadFor(options);
  if (config === undefined) {
    const found =
      draft === undefined ? [] : await surveyDraft(draft, problems, options, { env, drive });
    return { kind: "refused", problems: [...problems, ...found] };
  }
  await drive(giveWay());
  const watch = watchState(log);
  const open = (): Promise<StateOpening> =>
    place === undefined
      ? openServerState(config, isPersistent, watch)
      : place.openState(config, watch);
  const opening = before ? { opened: before } : await open();
  // A directory that another daemon uses is not written to.
  const isOurs = opening.opened !== undefined;
  const tls = await loadTlsIdentity(config, { isPersistent: isPersistent && isOurs });
  const http = loadHttpTls(config.gateway, config);
  const pages = loadHttpTls(config.console, config);
  const known = [...problems, ...tls.problems, ...http.problems, ...pages.problems];
  if (opening.opened === undefined) {
    const isInspectable = opening.isInspectable === true && config.console.enabled;
    return { kind: "refused", problems: [...known, ...opening.problems], isInspectable };
  }
  const kept = opening.opened;
  const observer = createObserver(log);
  await drive(giveWay());
  const loaded = await load(
    config,
    { ...{ kept, observer, env, log: log.logger, drive }, ...(modules && { modules }) },
    before,
  );
  const found = [...known, ...loaded.problems];
  const { deployment } = loaded;
  const isInsecure = [...http.problems, ...pages.problems].some(isError);
  if (deployment === undefined || tls.identity === undefined || isInsecure) {
    await deployment?.close();
    if (before === undefined) await kept.state.close();
    return { kind: "refused", problems: found };
  }
  const { fingerprint256 } = tls;
  const shared = place && { ticketKeys: place.ticketKeys(), intermediates: place.intermediates };
  const identity = { ...tls.identity, ...shared };
  const secrets = { identity, fingerprint256, httpTls: http.tls, consoleTls: pages.tls };
  return { kind: "built", deployment, kept, ...secrets, problems: found };
}

/**
 * Finds the problems of a deployment whose configuration is refused, so that an operator sees all
 * of them at once. It uses a state of its own, in memory, and writes or leaves open nothing.
 * AGTP-API §13.2
 */
async function surveyDraft(
  { config, faults, placed, isEnvironmentLost = false }: Draft,
  told: readonly Problem[],
  { log, modules }: DaemonOptions,
  { env, drive }: Pick<DeploymentOptions, "env" | "drive">,
): Promise<readonly Problem[]> {
  const certificates = await surveyCertificates(config, told);
  const { opened: kept, problems = [] } = await openServerState(config, false, watchState(log));
  if (kept === undefined) return [...certificates, ...problems];
  const observer = createObserver(log);
  const doubts = new Doubts(faults);
  try {
    const { deployment, problems: found } = await loadDeployment(config, {
      ...{ kept, observer, env, log: log.logger, drive, doubts },
      ...(modules && { modules }),
    });
    await deployment?.close();
    const certain = found.filter(
      (one) => !doubts.isOnLost(one) && !(isEnvironmentLost && isUnset(one.message)),
    );
    return [...certificates, ...certain.map(placed)].filter(isNewTo(told));
  } finally {
    await kept.state.close();
  }
}

/** Finds the problems of certificates, except for a pair that the configuration check has reported. */
async function surveyCertificates(
  config: Config,
  told: readonly Problem[],
): Promise<readonly Problem[]> {
  const tls = await loadTlsIdentity(config, { isPersistent: false });
  const found = {
    tls: tls.problems,
    gateway: loadHttpTls(config.gateway, config).problems,
    console: loadHttpTls(config.console, config).problems,
  };
  return Object.entries(found).flatMap(([section, problems]) => {
    const pair = [`${section}.cert`, `${section}.key`];
    const isTold = told.some(({ key }) => pair.includes(key));
    return isTold ? problems.filter(({ key }) => !pair.includes(key) && key !== "") : problems;
  });
}

/** Loads the deployment; closes the state if a start fails. */
async function load(
  config: Config,
  options: DeploymentOptions,
  before: ProcessState | undefined,
): Promise<LoadedDeployment> {
  try {
    return await loadDeployment(config, options);
  } catch (error) {
    if (before !== undefined) throw error;
    if (isStoreUnavailable(error)) {
      return { deployment: undefined, problems: [storeFault(config, error)] };
    }
    await options.kept.state.close();
    throw error;
  }
}

/** Runs steps in turns with requests, until the server stops. */
function untilStopping({ work, stopping }: ProcessState): Drive {
  return (steps) => work.pace(steps, THE_SERVER, stopping.signal);
}
