/** The composition root: starts, reloads and drains a daemon. Only what is built whole is served. */
import { relative } from "node:path";
import { findDescriptorFault } from "../base/late-load.ts";
import { atOnce, turn } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import { codeOf, reasonOf } from "../base/thrown.ts";
import type { Gateway } from "../dispatch/http-gateway.ts";
import type { ProcessState } from "../dispatch/process-state.ts";
import { whileServing } from "../dispatch/while-serving.ts";
import type { PushedMetrics } from "../modules/tracing/push-metrics.ts";
import type { ControlCommand, ControlSocket } from "../server/control-socket.ts";
import { HttpListener } from "../server/http-listener.ts";
import { createListener, type Listener } from "../server/listener.ts";
import type { MeasuringOptions, Metrics } from "../server/metrics.ts";
import { SendBudget } from "../server/send-budget.ts";
import { controlPath } from "../state/state-directory.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";
import { type Built, build, type DaemonOptions, type Refused } from "./build.ts";
import type { Config } from "./config/config.ts";
import { type Controlled, openControl, type StatusSource } from "./control.ts";
import type { Deployment } from "./deployment.ts";
import { listNodes, nodeName } from "./nodes.ts";
import { keysNeedingRestart } from "./restart-keys.ts";
import { reportingProblems, reportingTrust } from "./start-report.ts";

/** A daemon that is listening. */
export interface Daemon {
  readonly address: string;
  readonly port: number;
  /** Undefined: HTTP clients are not served. */
  readonly gatewayPort: number | undefined;
  readonly fingerprint256: string;
  /**
   * Builds a whole new configuration and swaps it in; any problem, and nothing changes. Asked again
   * meanwhile, it does so once more afterwards.
   */
  reload(): Promise<readonly Problem[]>;
  /** Answers what was received, then ends everything. */
  drain(): Promise<void>;
  /** Resolves once it is drained, whoever wanted that. */
  readonly ended: Promise<void>;
  /** 1 where it ended since its store lost what was acknowledged. */
  readonly exitCode: 0 | 1;
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
  atOnce(reportingProblems(options.log, built.problems));
  const running = new Running(built, options);
  const started = await running.listen();
  return started.kind === "refused" ? started : { kind: "started", daemon: running };
}

class Running implements Daemon, Controlled {
  readonly #options: DaemonOptions;
  readonly #listener: Listener;
  readonly #kept: ProcessState;
  #deployment: Deployment;
  #metrics: Metrics | undefined;
  #pushed: PushedMetrics | undefined;
  readonly #http: HttpListener | undefined;
  readonly #console: HttpListener | undefined;
  readonly #sendBudget: SendBudget;
  gatewayPort: number | undefined;
  #consolePort: number | undefined;
  #control: ControlSocket | undefined;
  #problems: readonly Problem[];
  #stopped: Promise<void> | undefined;
  #sayEnded: () => void = () => undefined;
  readonly ended: Promise<void> = new Promise((resolve) => {
    this.#sayEnded = resolve;
  });
  exitCode: 0 | 1 = 0;
  #reloading: Promise<unknown> = Promise.resolve();
  fingerprint256: string;
  address = "";
  port = 0;

  constructor(built: Built, options: DaemonOptions) {
    const { deployment, kept, identity, fingerprint256, httpTls, consoleTls, problems } = built;
    this.#problems = problems;
    this.#options = options;
    this.#kept = kept;
    void kept.state.view.lost?.then(() => {
      this.exitCode = 1;
      return this.stop();
    });
    this.#deployment = deployment;
    this.fingerprint256 = fingerprint256;
    const limits = (): LimitsConfig => this.#deployment.config.limits;
    const onFault = (error: unknown): void =>
      options.log.logger.error({ event: "fault", error }, "a connection failed");
    const gateway = (): Gateway | undefined => this.#deployment.gateway;
    const sendBudget = new SendBudget(limits);
    this.#sendBudget = sendBudget;
    const common = { limits, sendBudget, onFault };
    this.#http =
      gateway() &&
      new HttpListener({ subject: "the HTTP sidecar", tls: httpTls, gateway, ...common });
    const pages = (): Gateway | undefined => this.#deployment.console?.gateway();
    this.#console =
      pages() &&
      new HttpListener({ subject: "the console", tls: consoleTls, gateway: pages, ...common });
    this.#listener = createListener({
      ...{ identity, limits, sendBudget, onFault },
      dispatcher: () => this.#deployment.dispatcher,
      settle: (done, of) => kept.state.ledger.settle(done, of),
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
    const { server, metrics, gateway, console } = config;
    try {
      if (metrics.enabled) {
        // Loaded by those who want it only.
        const { createMetrics } = await import("../server/metrics.ts");
        this.#metrics = await createMetrics({ ...metrics, ...this.#counts });
      }
    } catch (error) {
      return this.#refuse("metrics.port", metrics.host, metrics.port, error);
    }
    await this.#pushMetrics(config);
    try {
      const bound = await this.#listener.listen(server.host, server.port);
      this.address = bound.address;
      this.port = bound.port;
    } catch (error) {
      return this.#refuse("server.port", server.host, server.port, error);
    }
    try {
      const bound = await this.#http?.listen(gateway.host, gateway.port);
      this.gatewayPort = bound?.port;
    } catch (error) {
      return this.#refuse("gateway.port", gateway.host, gateway.port, error);
    }
    try {
      const bound = await this.#console?.listen(console.host, console.port);
      this.#consolePort = bound?.port;
    } catch (error) {
      return this.#refuse("console.port", console.host, console.port, error);
    }
    this.#bind(this.#deployment);
    atOnce(reportingProblems(this.#options.log, await this.#deployment.commit()));
    atOnce(reportingTrust(this.#options.log, this.#deployment));
    await this.#openControl(config);
    this.#announce(config);
    return { kind: "listening" };
  }

  /** The counts that only the server has. */
  get #counts(): MeasuringOptions {
    const connectionCount = (): number =>
      this.#listener.connectionCount + (this.#http?.connectionCount ?? 0);
    const { view } = this.#kept.state;
    const figures = view.figures && { nodeFigures: () => view.figures!() };
    return { connectionCount, sendBudget: this.#sendBudget, ...figures };
  }

  /** To the collector of traces, where it is to have them. */
  async #pushMetrics({ tracing, server, limits }: Config): Promise<void> {
    if (!tracing.enabled || !tracing.metrics) return;
    const { createMeasurements } = await import("../server/metrics.ts");
    const { pushMetrics } = await import("../modules/tracing/push-metrics.ts");
    const { registry, close } = createMeasurements(this.#counts);
    const pushed = pushMetrics({ tracing, server }, registry, limits.drainTimeoutMs);
    this.#pushed = { close: () => pushed.close().finally(close) };
  }

  /** Without it everything is served; only the programs that ask for it find nobody. */
  async #openControl(config: Config): Promise<void> {
    const path = controlPath(config.directory);
    try {
      this.#control = await openControl(path, this);
    } catch (error) {
      const message = `the control socket cannot be opened: ${reasonOf(error)}`;
      const file = relative(config.directory, path);
      const problem: Problem = { file, key: "", message, severity: "warning" };
      atOnce(reportingProblems(this.#options.log, [problem]));
      this.#problems = [...this.#problems, problem];
    }
  }

  #bind(deployment: Deployment): void {
    const gateway = deployment.gateway === undefined ? undefined : this.gatewayPort;
    deployment.bind({ agtp: this.port, gateway });
    if (this.#consolePort !== undefined) {
      deployment.console?.bind(this.#consolePort, () => this.status());
    }
  }

  async #refuse(key: string, host: string, port: number, error: unknown): Promise<Refused> {
    const { config } = this.#deployment;
    const reason = reasonOf(error);
    const message = `cannot listen on ${host} port ${port}: ${reason}`;
    await this.#close(0);
    const file = relative(config.directory, config.file);
    const hint = portHint(key, codeOf(error));
    return { kind: "refused", problems: [{ file, key, message, ...hint }] };
  }

  /** The ready line: programs that start a daemon wait for it, so no log level hides it. */
  #announce({ server }: Config): void {
    const { address, port, fingerprint256 } = this;
    const ready = { event: "listening", address, port, server_id: server.serverId, fingerprint256 };
    const processes = { workers: 1, node: nodeName(this, this.#kept.state.view) };
    const metrics = this.#metrics === undefined ? {} : { metrics_port: this.#metrics.port };
    const gateway = this.gatewayPort === undefined ? {} : { gateway_port: this.gatewayPort };
    const console = this.#consolePort === undefined ? {} : { console_port: this.#consolePort };
    this.#options.log.logger
      .child({}, { level: "info" })
      .info(
        { ...ready, ...processes, ...gateway, ...metrics, ...console },
        `listening on ${address} port ${port}`,
      );
    void this.#options.log.flush();
  }

  reload(): Promise<readonly Problem[]> {
    const reloading = this.#reloading.then(() => this.#reload());
    this.#reloading = reloading.catch(() => undefined);
    return reloading;
  }

  async #reload(): Promise<readonly Problem[]> {
    const { log } = this.#options;
    const drive = whileServing(this.#kept);
    const starved = findDescriptorFault();
    if (starved !== undefined) {
      // Begun without, it would leave modules that Node calls failed until the process ends.
      const problem = { file: this.#deployment.config.file, key: "", message: starved.message };
      atOnce(reportingProblems(log, [problem]));
      log.logger.error({ event: "reload-refused" }, "nothing changed");
      return [problem];
    }
    const next = await build(this.#options, { isPersistent: true, kept: this.#kept });
    await drive(reportingProblems(log, next.problems));
    const errors = next.problems.filter((one) => isError(one) && one.isPassing !== true);
    if (next.kind === "refused" || errors.length > 0) {
      if (next.kind === "built") await next.deployment.close();
      log.logger.error({ event: "reload-refused" }, "nothing changed");
      return errors;
    }
    // The present deployment serves until the next one can answer without waiting.
    this.#bind(next.deployment);
    await this.#prepare(next.deployment);
    await drive(turn());
    const unchanged = keysNeedingRestart(this.#deployment.config, next.deployment.config);
    this.#listener.replaceIdentity(next.identity);
    const previous = this.#deployment;
    this.#deployment = next.deployment;
    this.#problems = next.problems;
    this.#http?.renew(next.httpTls);
    this.#console?.renew(next.consoleTls);
    // Requests may still run in it: its idle upstream connections close by themselves.
    await previous.retire();
    this.fingerprint256 = next.fingerprint256;
    const remaining = [...unchanged, ...(await next.deployment.commit())];
    await drive(reportingProblems(log, remaining));
    await drive(reportingTrust(log, next.deployment));
    log.logger.info({ event: "reloaded", fingerprint256: next.fingerprint256 }, "reloaded");
    return [];
  }

  async #prepare(deployment: Deployment): Promise<void> {
    try {
      await deployment.prepare();
    } catch (error) {
      await deployment.close();
      throw error;
    }
  }

  status(): StatusSource {
    const { address, port, gatewayPort } = this;
    const isReady = this.#stopped === undefined;
    return {
      ...{ address, port, gatewayPort, metricsPort: this.#metrics?.port },
      consolePort: this.#consolePort,
      config: this.#deployment.config,
      isReady,
      connectionCount: this.#listener.connectionCount + (this.#http?.connectionCount ?? 0),
      problems: this.#problems,
      documentVersion: () => this.#deployment.documentVersion(),
      nodes: () => listNodes({ isReady, address, port }, this.#kept.state.view),
      node: nodeName({ port }, this.#kept.state.view),
    };
  }

  exported(): AsyncIterable<string> {
    return this.#kept.state.exported(this.#deployment.config.server.serverId);
  }

  command(name: string): ControlCommand | undefined {
    return this.#deployment.commands.get(name);
  }

  async drain(): Promise<void> {
    await this.stop();
    await this.ended;
  }

  /** Asked twice, it drains once. Who asked over the control socket is answered after it. */
  stop(): Promise<void> {
    this.#stopped ??= this.#drain().finally(() => {
      void (this.#control?.close() ?? Promise.resolve()).finally(this.#sayEnded);
    });
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    const { log } = this.#options;
    log.logger.info({ event: "draining" }, "draining");
    await this.#close(this.#deployment.config.limits.drainTimeoutMs);
    log.logger.info({ event: "stopped" }, "stopped");
    await log.flush();
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#kept.stopping.abort(new Error("the server is stopping"));
    await Promise.all([
      this.#listener.drain(timeoutMs),
      this.#http?.drain(timeoutMs),
      this.#console?.drain(timeoutMs),
    ]);
    await Promise.all([this.#deployment.close(), this.#metrics?.close(), this.#pushed?.close()]);
    // The next daemon takes its place as soon as the state is free.
    await this.#control?.leave();
    try {
      await this.#kept.state.close();
    } catch (error) {
      // Every record is in the journal, from which the next start makes the rest.
      const message = "the server's state cannot be kept";
      this.#options.log.logger.error({ event: "fault", error }, message);
    }
  }
}

/** The way out for a port that cannot be had. */
function portHint(key: string, code: string): { readonly hint?: string } {
  if (code !== "EADDRINUSE" && code !== "EACCES") return {};
  const option = key === "server.port" ? ", or --port N for this start" : "";
  return { hint: `choose another port there${option}; 0 is any free one` };
}
