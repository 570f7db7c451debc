/** The composition root: starts, reloads and drains a daemon. Only a completely built deployment is served. */
import { relative } from "node:path";
import { atOnce } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import { whileServing } from "../dispatch/process-state.ts";
import { pushesMetrics } from "../modules/tracing/config.ts";
import type { PushedMetrics } from "../modules/tracing/push-metrics.ts";
import type { ControlCommand } from "../server/control-socket.ts";
import type { Metrics } from "../server/metrics.ts";
import { judgeStore } from "../state/open-store.ts";
import type { ServerState, ViewLease } from "../state/state.ts";
import {
  type Built,
  buildDaemon,
  type DaemonOptions,
  loadFor,
  type Refused,
} from "./build-daemon.ts";
import type { Config } from "./config/config.ts";
import type { LoadedConfig } from "./config/load.ts";
import { countWorkers, listNodes, nodeName, type StatusSource } from "./control.ts";
import type { Deployment } from "./deployment.ts";
import { type Daemon, RunningDaemon, type StartResult } from "./running-daemon.ts";
import { Serving } from "./serving.ts";
import { announce, reportingProblems, reportingTrust } from "./start-report.ts";

export type { Daemon, StartResult };

/**
 * Loads everything without starting it. Writes nothing, and opens nothing that a running daemon may
 * hold open.
 */
export async function checkDeployment(options: DaemonOptions): Promise<readonly Problem[]> {
  const loaded = loadFor(options);
  const built = await buildDaemon(options, { isPersistent: false, loaded });
  if (built.kind === "built") {
    await built.deployment.close();
    await built.kept.state.close();
  }
  return [...built.problems, ...storeProblems(loaded)];
}

function storeProblems({ config }: LoadedConfig): readonly Problem[] {
  if (config === undefined) return [];
  const { store, directory, file } = config;
  return judgeStore(store, relative(directory, file));
}

/** Starts a daemon, or returns every problem that prevents it. */
export async function startDaemon(options: DaemonOptions): Promise<StartResult> {
  const loaded = loadFor(options);
  if (loaded.config !== undefined && countWorkers(loaded.config) > 1) {
    const { startWorkers } = await import("./workers/parent.ts");
    return startWorkers(options, loaded.config);
  }
  const built = await buildDaemon(options, { isPersistent: true, loaded });
  if (built.kind === "refused") return built;
  atOnce(reportingProblems(options.log, built.problems));
  const running = new Running(built, options);
  const started = await running.listen();
  return started.kind === "refused" ? started : { kind: "started", daemon: running };
}

class Running extends RunningDaemon {
  readonly #serving: Serving;
  #metrics: Metrics | undefined;
  #pushed: PushedMetrics | undefined;
  /** Started after the ready line is written. */
  #warmingUp: Promise<void> | undefined;

  constructor(built: Built, options: DaemonOptions) {
    super(options);
    this.#serving = new Serving(built, options);
    void built.kept.state.view.lost?.then(() => {
      this.exitCode = 1;
      return this.stop();
    });
  }

  get port(): number {
    return this.#serving.port;
  }

  get gatewayPort(): number | undefined {
    return this.#serving.gatewayPort;
  }

  get fingerprint256(): string {
    return this.#serving.fingerprint256;
  }

  protected get config(): Config {
    return this.#serving.deployment.config;
  }

  protected get state(): ServerState {
    return this.#serving.kept.state;
  }

  get #isReady(): boolean {
    return this.#warmingUp !== undefined && !this.isEnding && this.#view.isFresh;
  }

  get #view(): ViewLease {
    return this.state.view;
  }

  /** Binds the ports; on failure closes everything. */
  async listen(): Promise<{ readonly kind: "listening" } | Refused> {
    const { deployment, listener, counts } = this.#serving;
    const { config } = deployment;
    const { server, metrics } = config;
    try {
      if (metrics.enabled) {
        // Imported here, since most daemons do not serve metrics.
        const { createMetrics } = await import("../server/metrics.ts");
        const isReady = (): boolean => this.#isReady;
        this.#metrics = await createMetrics({ ...metrics, ...counts, isReady });
      }
    } catch (error) {
      return this.refusePort({ key: "metrics.port", ...metrics, error });
    }
    await this.#pushMetrics(config);
    try {
      const bound = await listener.listen(server.host, server.port);
      this.address = bound.address;
      this.#serving.port = bound.port;
    } catch (error) {
      return this.refusePort({ key: "server.port", ...server, error });
    }
    const fault = await this.#serving.listenForHttp();
    if (fault !== undefined) return this.refusePort(fault);
    this.#bind(deployment);
    this.retain(deployment.signer);
    deployment.commit();
    atOnce(reportingTrust(this.options.log, deployment));
    await this.openControl();
    await this.#serving.catchUp();
    announce(this.options.log, this.status(), this.fingerprint256);
    this.#warmingUp = this.#serving.warmUp();
    return { kind: "listening" };
  }

  /** Pushes metrics to the trace collector if that is configured. */
  async #pushMetrics(config: Config): Promise<void> {
    if (!pushesMetrics(config.tracing)) return;
    const { createMeasurements } = await import("../server/metrics.ts");
    const { pushMetrics } = await import("../modules/tracing/push-metrics.ts");
    const { registry, close } = createMeasurements(this.#serving.counts);
    const pushed = pushMetrics(config, registry, config.limits.drainTimeoutMs);
    this.#pushed = { ...pushed, close: () => pushed.close().finally(close) };
  }

  protected addProblem(problem: Problem): void {
    atOnce(reportingProblems(this.options.log, [problem]));
    this.#serving.addProblem(problem);
  }

  #bind(deployment: Deployment): void {
    const { port, gatewayPort, consolePort } = this.#serving;
    const gateway = deployment.gateway === undefined ? undefined : gatewayPort;
    deployment.bind({ agtp: port, gateway });
    if (consolePort !== undefined) deployment.console?.bind(consolePort, () => this.status());
  }

  protected async reloadNow(): Promise<readonly Problem[]> {
    const { log } = this.options;
    const drive = whileServing(this.#serving.kept);
    const { next, found, errors } = await this.#serving.prepare((one) => this.#bind(one));
    await drive(reportingProblems(log, found));
    if (next === undefined) {
      log.logger.error({ event: "reload-refused" }, "nothing changed");
      return errors;
    }
    this.remaining = await this.#serving.adopt(next);
    this.retain(next.deployment.signer);
    this.#pushed?.follow(next.deployment.config);
    await drive(reportingProblems(log, this.remaining));
    await drive(reportingTrust(log, next.deployment));
    log.logger.info({ event: "reloaded", fingerprint256: next.fingerprint256 }, "reloaded");
    return [];
  }

  status(): StatusSource {
    const { address, port, gatewayPort } = this;
    const { deployment, problems, consolePort } = this.#serving;
    const isReady = !this.isEnding;
    return {
      ...{ address, port, gatewayPort, metricsPort: this.#metrics?.port, consolePort },
      ...{ config: deployment.config, isReady, problems, workers: 1 },
      connectionCount: async () => this.#serving.connectionCount,
      documentVersion: () => deployment.documentVersion(),
      journal: async () => this.state.retention?.size(),
      nodes: () => listNodes({ isReady, address, port }, this.#view),
      node: nodeName({ port }, this.#view),
    };
  }

  command(name: string): ControlCommand | undefined {
    return this.#serving.deployment.commands.get(name);
  }

  protected async close(timeoutMs: number): Promise<void> {
    const others = [this.#metrics?.close(), this.#pushed?.close(), this.#warmingUp];
    await this.#serving.end(timeoutMs, others);
    await this.leaveControl();
    await this.#serving.closeState();
  }
}
