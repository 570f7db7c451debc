/** The composition root: starts, reloads and drains a daemon. Only what is built whole is served. */
import { relative } from "node:path";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import type { Environment } from "../environment.ts";
import { formatProblem, isError, type Problem } from "../problem.ts";
import { reasonOf } from "../thrown.ts";
import { type Deployment, loadDeployment } from "./deployment.ts";
import { createListener, type Listener, type TlsIdentity } from "./listener.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { createObserver } from "./observer.ts";
import { keysNeedingRestart } from "./restart-keys.ts";
import { type OpenedState, openServerState } from "./server-state.ts";
import { loadTlsIdentity } from "./tls-identity.ts";

/** What a daemon is started with. */
export interface DaemonOptions {
  readonly configPath: string;
  /** Override `[server] host` and `port`. */
  readonly host?: string;
  readonly port?: number;
  readonly env: Environment;
  readonly log: Log;
}

/** A daemon that is listening. */
export interface Daemon {
  readonly address: string;
  readonly port: number;
  readonly fingerprint256: string;
  /** Builds a whole new configuration and swaps it in; any problem, and nothing changes. */
  reload(): Promise<readonly Problem[]>;
  /** Answers what was received, then ends everything. */
  drain(): Promise<void>;
}

interface Refused {
  readonly kind: "refused";
  readonly problems: readonly Problem[];
}

/** A daemon, or what keeps it from starting. */
export type StartResult = { readonly kind: "started"; readonly daemon: Daemon } | Refused;

/** Loads everything without starting anything. Writes nothing. */
export async function checkDeployment(options: DaemonOptions): Promise<readonly Problem[]> {
  const built = await build(options, { isPersistent: false });
  if (built.kind === "built") {
    await built.deployment.close();
    await built.kept.state.close();
  }
  return built.problems;
}

/** Starts a daemon, or says everything that is in the way. */
export async function startDaemon(options: DaemonOptions): Promise<StartResult> {
  const built = await build(options, { isPersistent: true });
  if (built.kind === "refused") return built;
  reportProblems(options.log, built.problems);
  const running = new Running(built, options);
  const started = await running.listen();
  return started.kind === "refused" ? started : { kind: "started", daemon: running };
}

interface Built {
  readonly kind: "built";
  readonly deployment: Deployment;
  readonly kept: OpenedState;
  readonly identity: TlsIdentity;
  readonly fingerprint256: string;
  readonly problems: readonly Problem[];
}

interface BuildOptions {
  /** Whether what is missing may be made, and what is there written to. */
  readonly isPersistent: boolean;
  /** Of the daemon that is being reloaded. */
  readonly kept?: OpenedState;
}

async function build(
  options: DaemonOptions,
  { isPersistent, kept: before }: BuildOptions,
): Promise<Built | Refused> {
  const { configPath, env, log, host, port } = options;
  const overrides = {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
  };
  const { config, problems } = loadConfig(configPath, env, overrides);
  if (config === undefined) return { kind: "refused", problems };
  const onFault = (error: unknown): void =>
    log.logger.error({ event: "fault", error }, "the server's state cannot be kept");
  const opening = before ?? (await openServerState(config, isPersistent, onFault));
  const tls = await loadTlsIdentity(config, { isPersistent });
  if (opening.state === undefined) {
    return { kind: "refused", problems: [...problems, ...tls.problems, ...opening.problems] };
  }
  const kept: OpenedState = opening;
  const observer = createObserver(log);
  const loaded = await loadDeployment(config, { ...kept, observer, env, log: log.logger });
  const found = [...problems, ...tls.problems, ...loaded.problems];
  const { deployment } = loaded;
  if (deployment === undefined || tls.identity === undefined) {
    await deployment?.close();
    if (before === undefined) await kept.state.close();
    return { kind: "refused", problems: found };
  }
  const { identity, fingerprint256 } = tls;
  return { kind: "built", deployment, kept, identity, fingerprint256, problems: found };
}

class Running implements Daemon {
  readonly #options: DaemonOptions;
  readonly #listener: Listener;
  readonly #kept: OpenedState;
  #deployment: Deployment;
  #metrics: Metrics | undefined;
  #drained: Promise<void> | undefined;
  fingerprint256: string;
  address = "";
  port = 0;

  constructor({ deployment, kept, identity, fingerprint256 }: Built, options: DaemonOptions) {
    this.#options = options;
    this.#kept = kept;
    this.#deployment = deployment;
    this.fingerprint256 = fingerprint256;
    this.#listener = createListener({
      identity,
      limits: () => this.#deployment.config.limits,
      dispatcher: () => this.#deployment.dispatcher,
      settle: (done) => kept.state.ledger.settle(done),
      onFault: (error) =>
        options.log.logger.error({ event: "fault", error }, "a connection failed"),
      onRefusedPeer: (reason, remote) =>
        options.log.logger.warn(
          { event: "peer-refused", reason, remote },
          "a peer was turned away",
        ),
    });
  }

  /** Binds the ports; on failure everything is closed again. */
  async listen(): Promise<{ readonly kind: "listening" } | Refused> {
    const { config } = this.#deployment;
    const { server, metrics } = config;
    try {
      if (metrics.enabled) {
        const connectionCount = (): number => this.#listener.connectionCount;
        // Loaded by those who want it only.
        const { createMetrics } = await import("./metrics.ts");
        this.#metrics = await createMetrics({ ...metrics, connectionCount });
      }
    } catch (error) {
      return this.#refuse("metrics.port", metrics.host, metrics.port, error);
    }
    try {
      const bound = await this.#listener.listen(server.host, server.port);
      this.address = bound.address;
      this.port = bound.port;
    } catch (error) {
      return this.#refuse("server.port", server.host, server.port, error);
    }
    reportProblems(this.#options.log, this.#deployment.commit());
    reportTrust(this.#options.log, this.#deployment);
    this.#announce(config);
    return { kind: "listening" };
  }

  async #refuse(key: string, host: string, port: number, error: unknown): Promise<Refused> {
    const { config } = this.#deployment;
    const reason = reasonOf(error);
    const message = `cannot listen on ${host} port ${port}: ${reason}`;
    await this.#close(0);
    const file = relative(config.directory, config.file);
    return { kind: "refused", problems: [{ file, key, message }] };
  }

  /** The ready line: programs that start a daemon wait for it, so no log level hides it. */
  #announce({ server }: Config): void {
    const { address, port, fingerprint256 } = this;
    const ready = { event: "listening", address, port, server_id: server.serverId, fingerprint256 };
    const metrics = this.#metrics === undefined ? {} : { metrics_port: this.#metrics.port };
    this.#options.log.logger
      .child({}, { level: "info" })
      .info({ ...ready, ...metrics }, `listening on ${address} port ${port}`);
    void this.#options.log.flush();
  }

  async reload(): Promise<readonly Problem[]> {
    const { log } = this.#options;
    const next = await build(this.#options, { isPersistent: true, kept: this.#kept });
    reportProblems(log, next.problems);
    const errors = next.problems.filter(isError);
    if (next.kind === "refused" || errors.length > 0) {
      if (next.kind === "built") await next.deployment.close();
      log.logger.error({ event: "reload-refused" }, "nothing changed");
      return errors;
    }
    const unchanged = keysNeedingRestart(this.#deployment.config, next.deployment.config);
    this.#listener.replaceIdentity(next.identity);
    const previous = this.#deployment;
    this.#deployment = next.deployment;
    // Requests may still run in it: its idle upstream connections close by themselves.
    await previous.retire();
    this.fingerprint256 = next.fingerprint256;
    reportProblems(log, [...unchanged, ...next.deployment.commit()]);
    reportTrust(log, next.deployment);
    log.logger.info({ event: "reloaded", fingerprint256: next.fingerprint256 }, "reloaded");
    return [];
  }

  /** Asked twice, it drains once. */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #drain(): Promise<void> {
    const { log } = this.#options;
    log.logger.info({ event: "draining" }, "draining");
    await this.#close(this.#deployment.config.limits.drainTimeoutMs);
    log.logger.info({ event: "stopped" }, "stopped");
    await log.flush();
  }

  async #close(timeoutMs: number): Promise<void> {
    await this.#listener.drain(timeoutMs);
    await Promise.all([this.#deployment.close(), this.#metrics?.close()]);
    try {
      await this.#kept.state.close();
    } catch (error) {
      // Every record is in the journal, from which the next start makes the rest.
      const message = "the server's state cannot be kept";
      this.#options.log.logger.error({ event: "fault", error }, message);
    }
  }
}

function reportProblems({ logger }: Log, problems: readonly Problem[]): void {
  for (const problem of problems) {
    const { file, key, message, hint } = problem;
    const line = { event: "problem", file, key, problem: message, hint };
    if (isError(problem)) logger.error(line, formatProblem(problem));
    else logger.warn(line, formatProblem(problem));
  }
}

/** By which rule each agent has its trust posture, and whether records prove anything. */
function reportTrust({ logger }: Log, { config, directory, signer, lifecycle }: Deployment): void {
  for (const agent of directory.list()) {
    const { agentId, name, trustTier, verificationPath, trustWarning, postureRules } = agent;
    const line = {
      event: "agent",
      agent_id: agentId,
      name,
      status: lifecycle.statusOf(agent),
      trust_tier: trustTier,
      verification_path: verificationPath,
      trust_warning: trustWarning,
      rules: postureRules,
    };
    logger.info(line, `agent ${name} has trust tier ${trustTier}, ${verificationPath}`);
  }
  if (signer.publicKey !== undefined || !config.attribution.enabled) return;
  const message = "no [signing] key: Attribution-Records are unsigned and prove nothing";
  logger.warn({ event: "unsigned-records" }, message);
}
