/**
 * A deployment on its listeners, in whichever process: what is served, how another takes its place
 * whole or not at all, and how it ends.
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

/** How long a store may be silent while a server that has answered all ends: a start does without its last writes. */
const SILENCE_MS = 3_000;

/** The ports of HTTP, as far as they are known. */
export interface HttpPorts {
  readonly gatewayPort?: number | undefined;
  readonly consolePort?: number | undefined;
}

/** Another deployment that can be served, or what is in the way of one. */
interface PreparedReload {
  /** Undefined: nothing changes. */
  readonly next: Built | undefined;
  readonly found: readonly Problem[];
  readonly errors: readonly Problem[];
}

export class Serving {
  readonly #options: DaemonOptions;
  /** The configuration of the start, of which some keys hold until the end. */
  readonly #inForce: Config;
  readonly #log: Log;
  readonly kept: ProcessState;
  readonly listener: Listener;
  readonly #http: HttpListener | undefined;
  readonly #console: HttpListener | undefined;
  readonly #sendBudget: SendBudget;
  deployment: Deployment;
  /** The problems of the deployment that is served. */
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

  /** All processes of a daemon together bound what waits to be sent. */
  #sendLimits(limits: LimitsConfig): LimitsConfig {
    const { place } = this.#options;
    if (place === undefined) return limits;
    return { ...limits, sendBufferTotalBytes: place.shareOf(limits.sendBufferTotalBytes) };
  }

  /** Adds one that was found when it was served already. */
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
   * Binds the ports of the sidecar and the console, those of the process before where there was one;
   * answers the first that cannot be had.
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

  /** Waits until whoever reads the ready line is served. */
  catchUp(): Promise<void> {
    return awaitLease(this.kept.state.view);
  }

  /** Builds the deployment anew, to be served by `adopt` or closed by `discard`. */
  async prepare(bind: (deployment: Deployment) => void): Promise<PreparedReload> {
    const starved = findDescriptorFault();
    if (starved !== undefined) {
      // Begun without, it would leave modules that Node calls failed until the process ends.
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
      // The present deployment serves until the next one can answer without waiting.
      bind(next.deployment);
      await next.deployment.prepare();
      await whileServing(this.kept)(giveWay());
    } catch (error) {
      await this.discard(next);
      throw error;
    }
    return { next, found, errors };
  }

  /** Closes a deployment that is not to be served. */
  async discard({ deployment }: Built): Promise<void> {
    await deployment.close();
  }

  /** Serves another deployment from now on; answers what it leaves to be desired. */
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
    // Requests may still run in it: its idle upstream connections close by themselves.
    await previous.retire();
    this.fingerprint256 = next.fingerprint256;
    next.deployment.commit();
    return [...unchanged, ...(await next.deployment.warmUp())];
  }

  /** Makes what the first who ask of a server that has just started would wait for. */
  async warmUp(): Promise<void> {
    try {
      const found = await this.deployment.warmUp();
      this.problems = [...this.problems, ...found];
      await whileServing(this.kept)(reportingProblems(this.#log, found));
    } catch (error) {
      // The first request for it makes it again.
      const message = "the server cannot be made ready for the first who ask";
      this.#log.logger.error({ event: "fault", error }, message);
    }
  }

  /** Answers what was received, and ends the deployment; `others` end with it. */
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
    // A call under an Idempotency-Key is answered for a little later.
    await nextTurn();
  }

  /** Keeps the state and lets go of it; false where it could not be kept. */
  async closeState(): Promise<boolean> {
    try {
      await this.kept.state.close();
      return true;
    } catch (error) {
      // Every record is in the journal, from which the next start makes the rest.
      const message = "the server's state cannot be kept";
      this.#log.logger.error({ event: "fault", error }, message);
      return false;
    }
  }
}

/** Without its store a process is ready all the same, and tells each request so. */
const LONGEST_MS = 10_000;

/**
 * Waits until a process may serve from what it has in memory: on a busy machine its lease ends while it is
 * built, and the next one may be over by the time it is heard of.
 */
export async function awaitLease(view: ViewLease): Promise<void> {
  const until = performance.now() + LONGEST_MS;
  while (!view.isFresh && view.catchUp !== undefined && performance.now() < until) {
    await view.catchUp().catch(() => undefined);
  }
}
