/** The daemon under attack, and its heartbeat: separate processes, which end with the attack. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Usage } from "../bench/usage-probe.ts";
import { daemonFlags } from "../daemon-flags.ts";
import { endWithThis } from "../leftovers.ts";
import type { Pulse } from "./heartbeat.ts";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The maximum time for a daemon to listen, or to end. */
const PATIENCE_MS = 60_000;

/** The options of a daemon besides its configuration. */
export interface VictimOptions {
  /** The maximum number of file descriptors; undefined for the shell's limit. */
  readonly descriptors?: number | undefined;
  /** A module that is loaded first. */
  readonly preload?: string | undefined;
}

/** A daemon with one deployment; after a kill it can be started again. */
export class Victim {
  readonly #config: string;
  readonly #options: VictimOptions;
  readonly #heart: Heart;
  #child: ChildProcess | undefined;
  port = 0;

  constructor(config: string, options: VictimOptions, heart: Heart) {
    this.#config = config;
    this.#options = options;
    this.#heart = heart;
  }

  async start(): Promise<void> {
    const { descriptors, preload } = this.#options;
    const probes = [new URL("../bench/usage-probe.js", import.meta.url).href, preload ?? []].flat();
    const flags = [
      ...daemonFlags(here("../agtpd.js")),
      ...["--expose-gc", ...probes.flatMap((probe) => ["--import", probe])],
    ];
    const port = ["--port", String(this.port)];
    const daemon = [here("../agtpd.js"), "--config", this.#config, "--log-level", "error", ...port];
    const limit = descriptors === undefined ? "true" : `ulimit -n ${descriptors}`;
    const command = ["-c", `${limit}; exec "$@"`, "sh", process.execPath, ...flags, ...daemon];
    const child = endWithThis(
      spawn("/bin/sh", command, { stdio: ["ignore", "pipe", "ignore", "ipc"] }),
    );
    this.#child = child;
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    for await (const line of createInterface({ input: child.stdout as Readable })) {
      if (!line.includes('"event":"listening"')) continue;
      this.port = (JSON.parse(line) as { readonly port: number }).port;
      break;
    }
    clearTimeout(timer);
    child.stdout?.resume();
    if (!this.isAlive) throw new Error("the daemon does not listen");
    this.#heart.rest(false);
  }

  get isAlive(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Sends a message to the preloaded module. */
  tell(message: object): void {
    this.#child?.send(message);
  }

  async memory(): Promise<number> {
    const child = this.#child as ChildProcess;
    const answer = once(child, "message") as Promise<[Usage]>;
    child.send("memory");
    return (await answer)[0].rssBytes;
  }

  /** Ends it; returns true if it ended cleanly. */
  async end(signal: NodeJS.Signals): Promise<boolean> {
    const child = this.#child;
    if (child === undefined || !this.isAlive) return false;
    this.#heart.rest(true);
    const gone = once(child, "exit");
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    const [code] = await gone;
    clearTimeout(timer);
    return code === 0;
  }
}

/** The heartbeat process. */
export class Heart {
  readonly #child: ChildProcess = endWithThis(fork(here("heartbeat.js")));

  async watch(port: number): Promise<void> {
    this.#child.send({ port });
    // The first answer needs a handshake.
    await delay(500);
    await this.pulse();
  }

  /** Pauses or resumes the heartbeat; a wait in between is not a stall. */
  rest(isResting: boolean): void {
    if (this.#child.connected) this.#child.send({ isResting });
  }

  async pulse(): Promise<Pulse> {
    const answer = once(this.#child, "message") as Promise<[Pulse]>;
    this.#child.send({});
    return (await answer)[0];
  }

  stop(): void {
    this.#child.disconnect();
  }
}
