/** One daemon of a cluster, in a separate process with its own directory. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createWriteStream, type WriteStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { reasonOf } from "../../../src/base/thrown.ts";
import { daemonFlags } from "../../daemon-flags.ts";
import { endWithThis } from "../../leftovers.ts";
import type { Link } from "./link.ts";
import { impatient, type Passed } from "./patience.ts";

/** The maximum time for a daemon to listen, or to end. */
const PATIENCE_MS = 30_000;

export interface NodeOptions {
  readonly name: string;
  readonly config: string;
  readonly link: Link;
  /** The built daemon program. */
  readonly program: string;
  /** The file for its logs. */
  readonly log: string;
  /** A module that is loaded first and can step the clock. */
  readonly preload: string;
  /** Lists what a daemon may be waiting for; used if one does not listen. */
  waits(): Promise<readonly string[]>;
}

export class Node {
  readonly name: string;
  readonly link: Link;
  readonly #options: NodeOptions;
  readonly #log: WriteStream;
  #child: ChildProcess | undefined;
  /** True while it should run, so that its end is a fault. */
  #isWanted = false;
  port = 0;
  /** True once it has ended, or failed to start, because the store lacks acknowledged records. */
  wentBack = false;
  /** The reason of its last unwanted end. */
  unwantedEnd: string | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
    this.link = options.link;
    this.#log = createWriteStream(options.log, { flags: "a" });
  }

  /** Starts it; returns false if it refuses because the store went back. */
  async start(): Promise<boolean> {
    const { program, config, preload } = this.#options;
    const flags = [...daemonFlags(program), "--import", preload];
    const args = [program, "--config", config, "--log-level", "warn", "--port", String(this.port)];
    const stdio = ["ignore", "pipe", "pipe", "ipc"] as const;
    const child = endWithThis(spawn(process.execPath, [...flags, ...args], { stdio: [...stdio] }));
    this.#child = child;
    this.wentBack = false;
    this.#isWanted = true;
    child.on("error", () => undefined);
    createInterface({ input: child.stderr as Readable }).on("line", (line) => this.#take(line));
    const listening = new Promise<boolean>((resolve) => {
      const timer = impatient(child, PATIENCE_MS, (passed) => void this.#giveUp(child, passed));
      createInterface({ input: child.stdout as Readable }).on("line", (line) => {
        this.#take(line);
        if (!line.includes('"event":"listening"')) return;
        this.port = (JSON.parse(line) as { readonly port: number }).port;
        clearInterval(timer);
        resolve(true);
      });
      child.once("exit", () => {
        clearInterval(timer);
        resolve(false);
      });
    });
    child.once("close", (code, signal) => {
      if (this.#isWanted && this.#child === child && !this.wentBack) {
        this.unwantedEnd = `node ${this.name} ended by itself (${code ?? signal})`;
      }
    });
    return listening;
  }

  get isAlive(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Sends SIGSTOP or SIGCONT. */
  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  stepClock(stepMs: number): void {
    if (this.#child?.connected === true) this.#child.send({ stepMs }, () => undefined);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false;
    const child = this.#child;
    if (child === undefined || !this.isAlive) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    const timer = impatient(child, PATIENCE_MS, () => void child.kill("SIGKILL"));
    await gone;
    clearInterval(timer);
  }

  /** Waits for it to end by itself within this much of its own time; returns false if it does not. */
  async ended(milliseconds: number): Promise<boolean> {
    const child = this.#child;
    if (child === undefined || !this.isAlive) return true;
    return new Promise((resolve) => {
      const timer = impatient(child, milliseconds, () => resolve(false));
      child.once("exit", () => {
        clearInterval(timer);
        resolve(true);
      });
    });
  }

  /** Runs `agtpd state accept-loss`. */
  async acceptLoss(): Promise<void> {
    const { program, config } = this.#options;
    const args = ["state", "accept-loss", "--config", config, "--reason", "torture"];
    await promisify(execFile)(process.execPath, [...daemonFlags(program), program, ...args]);
  }

  /** Ends a daemon that does not listen, and logs what it may have been waiting for. */
  async #giveUp(child: ChildProcess, { all, unserved }: Passed): Promise<void> {
    const times = `${Math.round(all)} ms, ${Math.round(unserved)} of them without a processor`;
    this.#take(`it does not listen after ${times}`);
    try {
      for (const line of await this.#options.waits()) this.#take(line);
    } catch (error) {
      this.#take(`and what it waits for cannot be asked: ${reasonOf(error)}`);
    }
    child.kill("SIGKILL");
  }

  #take(line: string): void {
    this.#log.write(`${line}\n`);
    if (line.includes("the store went back")) this.wentBack = true;
  }
}
