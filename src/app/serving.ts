/**
 * A deployment on its listeners, in any kind of process: what is served, how a reload replaces it
 * atomically, and how it ends.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { findDescriptorFault } from "../base/late-load.ts";
import type { Log } from "../base/log.ts";
import { giveWay } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import type { Gateway } from "../dispatch/module/http-gateway.ts";
import { type ProcessState, whileServing } from "../dispatch/process-state.ts";
import { SendBudget } from "../server/connection-limits.ts";
import { HttpListener } from "../server/http-listener.ts";
import { createListener, type Listener } from "../server/listener.ts";
import type { MeasuringOptions } from "../server/metrics.ts";
import type { ViewLease } from "../state/state.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";
import { type Built, buildDaemon, type DaemonOptions } from "./build-daemon.ts";
import type { Config } from "./config/config.ts";
import type { Deployment } from "./deployment.ts";
import { keysNeedingRestart, type PortFault, reportingProblems } from "./start-report.ts";

/**
 * The wait for a silent store at the end, once all requests are answered; the next start can do
 * without the last writes.
 */
const SILENCE_MS = 3_000;

/** The HTTP ports, as far as they are known. */
export interface HttpPorts {
  readonly gatewayPort?: number | undefined;
  readonly consolePort?: number | undefined;
}

/** A deployment that is ready to serve, or the problems that prevent it. */
interface PreparedReload {
  /** Undefined if nothing changes. */
  readonly next: Built | undefined;
  readonly found: readonly Problem[];
  readonly errors: readonly Problem[];
}

export class Serving {
  readonly #options: DaemonOptions;
  /** The configuration of the start, some keys of which stay in force until the end. */
  readonly #inForce: Config;
  readonly #log: Log;
  readonly kept: ProcessState;
  readonly listener: Listener;
  readonly #http: HttpListener | undefined;
  readonly #console: HttpListener | undefined;
  readonly #sendBudget: SendBudget;
  deployment: Deployment;
  /** The problems of the serving deployment. */
  problems: readonly Problem[];
  fingerprint256: string;
  port = 0;
  gatewayPort: number | undefined;
  consolePort: number | undefined;

  constructor(built: Built, options: DaemonOptions) {
    const { deployment, kept, identity, fingerprint256, httpTls, consoleTls, problems } = built;
    this.#options = options;
    this.#log = options.log;
    this.kept = kept;
    this.deployment = deployment;
    this.problems = problems;
    this.fingerprint256 = fingerprint256;
    this.#inForce = deployment.config;
    const { logger } = options.log;
    const limits = (): LimitsConfig => this.deployment.config.limits;
    const onFault = (error: unknown): void =>
      logger.error({ event: "fault", error }, "a connection failed");
    const gateway = (): Gateway | undefined => this.deployment.gateway;
    const sendBudget = new SendBudget(this.#sendLimits(deployment.config.limits));
    this.#sendBudget = sendBudget;
    const common = { limits, sendBudget, onFault };
    const { servesHttp = true } = options.place ?? {};
    this.#http =
      (servesHttp ? gateway() : undefined) &&
      new HttpListener({ subject: "the HTTP sidecar", tls: httpTls, gateway, ...common });
    const pages = (): Gateway | undefined => this.deployment.console?.gateway();
    this.#console =
      (servesHttp ? pages() : undefined) &&
      new HttpListener({ subject: "the console", tls: consoleTls, gateway: pages, ...common });
    this.listener = createListener({
      ...{ identity, limits: deployment.config.limits, dispatcher: deployment.dispatcher },
      ...{ sendBudget, ledger: kept.state.ledger, onFault },
      onRefusedPeer: (reason, remote) =>
        logger.warn({ event: "peer-refused", reason, remote }, "a peer was turned away"),
    });
  }

  /** Returns the limits with this process's share of the daemon's send buffers. */
  #sendLimits(limits: LimitsConfig): LimitsConfig {
    const { place } = this.#options;
    if (place === undefined) return limits;
    return { ...limits, sendBufferTotalBytes: place.shareOf(limits.sendBufferTotalBytes) };
  }

  /** Adds a problem that was found while serving. */
  addProblem(problem: Problem): void {
    this.problems = [...this.problems, problem];
  }

  get connectionCount(): number {
    return this.listener.connectionCount + (this.#http?.connectionCount ?? 0);
  }

  /** The counts that only the server has. */
  get counts(): MeasuringOptions {
    const { view } = this.kept.state;
    const figures = view.figures && { nodeFigures: () => view.figures!() };
    const connectionCount = (): number => this.connectionCount;
    return { connectionCount, sendBudget: this.#sendBudget, ...figures };
  }

  /**
   * Binds the ports of the sidecar and the console, by default those of the previous process;
   * returns the fault of the first that fails.
   */
  async listenForHttp(before: HttpPorts = {}): Promise<PortFault | undefined> {
    const { gateway, console } = this.deployment.config;
    for (const [key, listener, { host, port: written }] of [
      ["gateway", this.#http, gateway],
      ["console", this.#console, console],
    ] as const) {
      const port = before[`${key}Port`] ?? written;
      try {
        const bound = await listener?.listen(host, port);
        if (bound !== undefined) this[`${key}Port`] = bound.port;
      } catch (error) {
        return { key: `${key}.port`, host, port, error };
      }
    }
    return undefined;
  }

  /** Waits until the process can serve requests that follow the ready line. */
  catchUp(): Promise<void> {
    return awaitLease(this.kept.state.view);
  }

  /** Builds the deployment anew, to be served by `adopt` or closed by `discard`. */
  async prepare(bind: (deployment: Deployment) => void): Promise<PreparedReload> {
    const starved = findDescriptorFault();
    if (starved !== undefined) {
      // Without descriptors, Node would remember modules as failed until the process ends.
      const problem = { file: this.deployment.config.file, key: "", message: starved.message };
      return { next: undefined, found: [problem], errors: [problem] };
    }
    const next = await buildDaemon(this.#options, { isPersistent: true, kept: this.kept });
    const found = next.problems;
    const errors = found.filter((one) => isError(one) && one.isPassing !== true);
    if (next.kind === "refused") return { next: undefined, found, errors };
    if (errors.length > 0) {
      await this.discard(next);
      return { next: undefined, found, errors };
    }
    try {
      // The present deployment serves until the next one can answer without delay.
      bind(next.deployment);
      await next.deployment.prepare();
      await whileServing(this.kept)(giveWay());
    } catch (error) {
      await this.discard(next);
      throw error;
    }
    return { next, found, errors };
  }

  /** Closes a deployment that will not be served. */
  async discard({ deployment }: Built): Promise<void> {
    await deployment.close();
  }

  /** Starts to serve another deployment; returns its remaining problems. */
  async adopt(next: Built): Promise<readonly Problem[]> {
    const unchanged = keysNeedingRestart(this.#inForce, next.deployment.config);
    const { config, dispatcher } = next.deployment;
    const { limits } = config;
    this.listener.replace({ identity: next.identity, limits, dispatcher });
    this.#sendBudget.limit(this.#sendLimits(limits));
    const previous = this.deployment;
    this.deployment = next.deployment;
    this.problems = next.problems;
    this.#http?.renew(next.httpTls);
    this.#console?.renew(next.consoleTls);
    // Requests may still run in the previous one; its idle upstream connections close by
    // themselves.
    await previous.retire();
    this.fingerprint256 = next.fingerprint256;
    next.deployment.commit();
    return [...unchanged, ...(await next.deployment.warmUp())];
  }

  /** Does the work that the first requests after a start would otherwise wait for. */
  async warmUp(): Promise<void> {
    try {
      const found = await this.deployment.warmUp();
      this.problems = [...this.problems, ...found];
      await whileServing(this.kept)(reportingProblems(this.#log, found));
    } catch (error) {
      // The first request that needs it does the work again.
      const message = "the server cannot be made ready for the first who ask";
      this.#log.logger.error({ event: "fault", error }, message);
    }
  }

  /** Answers the received requests and ends the deployment; `others` end at the same time. */
  async end(timeoutMs: number, others: readonly (Promise<unknown> | undefined)[]): Promise<void> {
    this.kept.stopping.abort(new Error("the server is stopping"));
    const endHurry = this.#sendBudget.hurry();
    await Promise.all([
      this.listener.drain(timeoutMs),
      this.#http?.drain(timeoutMs),
      this.#console?.drain(timeoutMs),
    ]);
    endHurry();
    this.kept.drained.abort(new Error("the server has stopped"));
    this.kept.state.store.giveUpAfter?.(SILENCE_MS);
    await Promise.all([this.deployment.close(), ...others]);
    this.kept.calls.giveUp();
    // Calls with an Idempotency-Key are answered one turn later.
    await nextTurn();
  }

  /** Stores and closes the state; false if that fails. */
  async closeState(): Promise<boolean> {
    try {
      await this.kept.state.close();
      return true;
    } catch (error) {
      // Every record is in the journal, from which the next start rebuilds the rest.
      const message = "the server's state cannot be kept";
      this.#log.logger.error({ event: "fault", error }, message);
      return false;
    }
  }
}

/** The longest wait for the store; after that the process is ready, and refuses each request. */
const LONGEST_MS = 10_000;

/**
 * Waits until the process may serve from memory: on a busy machine its lease expires during the
 * build, and the next one may expire before it arrives.
 */
export async function awaitLease(view: ViewLease): Promise<void> {
  const until = performance.now() + LONGEST_MS;
  while (!view.isFresh && view.catchUp !== undefined && performance.now() < until) {
    await view.catchUp().catch(() => undefined);
  }
}
