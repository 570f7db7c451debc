/**
 * A running daemon, as its program sees it, with the behaviour that a single process and a parent
 * of workers share: reloads in sequence, one end.
 */
import { relative } from "node:path";
import type { Problem } from "../base/problem.ts";
import { reasonOf } from "../base/thrown.ts";
import { Turns } from "../base/turns.ts";
import type { ControlCommand, ControlSocket } from "../server/control-socket.ts";
import type { RecordSigner } from "../state/records/sealer.ts";
import type { ServerState } from "../state/state.ts";
import { controlPath } from "../state/state-directory.ts";
import type { DaemonOptions, Refused } from "./build-daemon.ts";
import type { Config } from "./config/config.ts";
import { type Controlled, openControl, type StatusSource } from "./control.ts";
import { DeploymentWatch } from "./deployment-watch.ts";
import { type PortFault, portProblem } from "./start-report.ts";

/** The number of files that a log line names. */
const MAX_NAMED = 10;

export interface Daemon {
  readonly address: string;
  readonly port: number;
  /** Undefined if HTTP clients are not served. */
  readonly gatewayPort: number | undefined;
  readonly fingerprint256: string;
  /**
   * Builds a whole new deployment and swaps it in; with any error nothing changes. A call during a
   * reload causes another one afterwards.
   */
  reload(): Promise<readonly Problem[]>;
  /** Reloads on each change of the deployment's files, until it drains. */
  watch(everyMs?: number): void;
  /** Answers the received requests, then ends everything. */
  drain(): Promise<void>;
  /** Resolves once it is drained, for any reason. */
  readonly ended: Promise<void>;
  /** 1 if it ended because its store lost acknowledged data. */
  readonly exitCode: 0 | 1;
}

export type StartResult = { readonly kind: "started"; readonly daemon: Daemon } | Refused;

export abstract class RunningDaemon implements Daemon, Controlled {
  protected readonly options: DaemonOptions;
  #control: ControlSocket | undefined;
  readonly #reloads = new Turns();
  #stopped: Promise<void> | undefined;
  #watch: DeploymentWatch | undefined;
  #sayEnded: () => void = () => undefined;
  readonly ended: Promise<void> = new Promise((resolve) => {
    this.#sayEnded = resolve;
  });
  exitCode: 0 | 1 = 0;
  address = "";
  remaining: readonly Problem[] = [];

  constructor(options: DaemonOptions) {
    this.options = options;
  }

  abstract readonly port: number;
  abstract readonly gatewayPort: number | undefined;
  abstract readonly fingerprint256: string;
  protected abstract readonly config: Config;
  /** The state, which outlives reloads. */
  protected abstract readonly state: Pick<ServerState, "retention" | "exported">;
  abstract status(): StatusSource;
  abstract command(name: string): ControlCommand | undefined;
  /** Reloads now; the previous reload is done. */
  protected abstract reloadNow(): Promise<readonly Problem[]>;
  /** Adds a problem of the serving deployment. */
  protected abstract addProblem(problem: Problem): void;
  /** Ends the listeners within the timeout, then the state. */
  protected abstract close(timeoutMs: number): Promise<void>;

  /** True once it drains. */
  protected get isEnding(): boolean {
    return this.#stopped !== undefined;
  }

  exported(): AsyncIterable<string> {
    return this.state.exported(this.config.server.serverId);
  }

  /** Applies the serving deployment's retention to the journal, and signs cuts with its key. */
  protected retain(signer: RecordSigner): void {
    const { attribution, server } = this.config;
    const { retention: limits } = attribution;
    this.state.retention?.apply({ limits, signer, serverId: server.serverId });
  }

  /** Refuses the start because of a port, and closes everything. */
  protected async refusePort(fault: PortFault): Promise<Refused> {
    await this.close(0);
    return { kind: "refused", problems: [portProblem(this.config, fault)] };
  }

  reload(): Promise<readonly Problem[]> {
    const reloading = this.#reloads.run(() => this.reloadNow());
    reloading.catch((error: unknown) => {
      this.options.log.logger.error({ event: "reload-refused", error }, "nothing changed");
    });
    return reloading;
  }

  watch(everyMs?: number): void {
    this.#watch ??= new DeploymentWatch({
      config: () => this.config,
      everyMs,
      onChange: (files) => {
        const named = { files: files.slice(0, MAX_NAMED), count: files.length };
        this.options.log.logger.info({ event: "files-changed", ...named }, "files have changed");
        return this.reload();
      },
    });
  }

  async drain(): Promise<void> {
    await this.stop();
    await this.ended;
  }

  /** Drains once, however often it is called. A client of the control socket is answered afterwards. */
  stop(): Promise<void> {
    this.#stopped ??= this.#drain().finally(() => {
      void (this.#control?.close() ?? Promise.resolve()).finally(this.#sayEnded);
    });
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    const { log } = this.options;
    this.#watch?.close();
    log.logger.info({ event: "draining" }, "draining");
    await this.close(this.config.limits.drainTimeoutMs);
    log.logger.info({ event: "stopped" }, "stopped");
    await log.flush();
  }

  /** Opens the control socket; if that fails, everything else is still served. */
  protected async openControl(): Promise<void> {
    const { directory } = this.config;
    const path = controlPath(directory);
    try {
      this.#control = await openControl(path, this);
    } catch (error) {
      const message = `the control socket cannot be opened: ${reasonOf(error)}`;
      this.addProblem({ file: relative(directory, path), key: "", message, severity: "warning" });
    }
  }

  /** Makes room for the next daemon, which starts as soon as the state is free. */
  protected async leaveControl(): Promise<void> {
    await this.#control?.leave();
  }
}
