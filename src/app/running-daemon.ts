/** A daemon as its program has it, and what one process and several do alike: reload in turn, end once. */
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

/** The files that a line of the log names. */
const MAX_NAMED = 10;

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
  /** Reloads whenever a file of the deployment changes, until it drains. */
  watch(everyMs?: number): void;
  /** Answers what was received, then ends everything. */
  drain(): Promise<void>;
  /** Resolves once it is drained, whoever wanted that. */
  readonly ended: Promise<void>;
  /** 1 where it ended since its store lost what was acknowledged. */
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
  /** It outlives reloads. */
  protected abstract readonly state: Pick<ServerState, "retention" | "exported">;
  abstract status(): StatusSource;
  abstract command(name: string): ControlCommand | undefined;
  /** Reloads now; the one before is over. */
  protected abstract reloadNow(): Promise<readonly Problem[]>;
  /** Tells of a problem of the deployment that is served. */
  protected abstract addProblem(problem: Problem): void;
  /** Ends what answers, within so long, and then the state. */
  protected abstract close(timeoutMs: number): Promise<void>;

  /** True once it drains. */
  protected get isEnding(): boolean {
    return this.#stopped !== undefined;
  }

  exported(): AsyncIterable<string> {
    return this.state.exported(this.config.server.serverId);
  }

  /** The journal is cut by the rules of the deployment that is served, and its cuts signed with its key. */
  protected retain(signer: RecordSigner): void {
    const { attribution, server } = this.config;
    const { retention: limits } = attribution;
    this.state.retention?.apply({ limits, signer, serverId: server.serverId });
  }

  /** A port cannot be had: everything is closed again. */
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

  /** Asked twice, it drains once. Who asked over the control socket is answered after it. */
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

  /** Without it everything is served; only the programs that ask for it find nobody. */
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

  /** Makes room for the next daemon, which takes its place as soon as the state is free. */
  protected async leaveControl(): Promise<void> {
    await this.#control?.leave();
  }
}
