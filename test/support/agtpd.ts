/** The built program in a process of its own: what it prints, its log line by line, its exit. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { onTestFinished } from "vitest";
import { daemonProgram } from "../../tools/agtpd-program.ts";
import { daemonFlags } from "../../tools/daemon-flags.ts";
import { connectRaw, type RawClient } from "./daemon.ts";
import { type ProgramRun, runIn } from "./terminal.ts";

const PROGRAM = resolve(import.meta.dirname, "../../dist/tools/agtpd.js");

/** One line of the log. */
type LogLine = Readonly<Record<string, unknown>>;

/** How a process ended, and what it said. */
export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface ProgramOptions {
  /** Its file; what the build made of this checkout, unless told otherwise. */
  readonly program?: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Run by bash before the program replaces it, such as `ulimit -n 96`. */
  readonly before?: string;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** A daemon of the running test, which is killed when the test is over. */
export interface RunningProgram {
  readonly child: Child;
  /** The line that says it listens. */
  readonly ready: LogLine;
  readonly port: number;
  readonly log: readonly LogLine[];
  /** The next line of this event that nobody has waited for. */
  line(event: string): Promise<LogLine>;
  connect(): Promise<RawClient>;
  /** Waits for the end. */
  readonly outcome: Promise<Outcome>;
}

/** Runs a command of the program in the process of the test: starting one costs more than most of them do. */
export function runCommand(args: readonly string[], directory: string): Promise<ProgramRun> {
  const daemon = daemonProgram(() => {
    throw new Error("the daemon has a process of its own");
  });
  return runIn(directory, daemon, args, { environment: process.env });
}

/** Runs the program to its end. */
export function runProgram(options: ProgramOptions): Promise<Outcome> {
  return outcomeOf(launch(options));
}

/** Starts the daemon of a deployment on a free port, and waits until it listens. */
export async function startProgram(
  configPath: string,
  options: ProgramOptions = {},
): Promise<RunningProgram> {
  const args = ["--config", configPath, "--port", "0", ...(options.args ?? [])];
  const child = launch({ ...options, args });
  const outcome = outcomeOf(child);
  const log = new LogReader(child.stdout);
  const refused = outcome.then(({ stderr }): never => {
    throw new Error(`it ended instead of listening:\n${stderr}`);
  });
  const ready = await Promise.race([log.next("listening"), refused]);
  refused.catch(() => undefined);
  const port = Number(ready["port"]);
  return {
    ...{ child, outcome, ready, port },
    log: log.lines,
    line: (event) => log.next(event),
    async connect() {
      const client = await connectRaw({ port });
      onTestFinished(() => client.destroy());
      return client;
    },
  };
}

export function launch({ program = PROGRAM, args = [], cwd, env, before }: ProgramOptions): Child {
  // Without the flags of its first line it cannot use the bytecode that the build kept.
  const command = [process.execPath, ...daemonFlags(program), program, ...args];
  const [file, ...rest] =
    before === undefined ? command : ["bash", "-c", `${before}; exec "$@"`, "bash", ...command];
  const child = spawn(file ?? "", rest, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Its directory is removed next, in which it writes until it is gone.
  onTestFinished(async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  });
  return child;
}

function outcomeOf(child: Child): Promise<Outcome> {
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/**
 * Parses the log as it comes; a line that is not JSON fails the test. What has no line feed when the
 * log ends is no line: a daemon that was killed, or whose reader had stalled, may stop within one.
 */
class LogReader {
  readonly lines: LogLine[] = [];
  readonly #taken = new Set<LogLine>();
  #wake: () => void = () => undefined;

  constructor(stdout: Readable) {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    stdout.on("data", (chunk: Buffer) => {
      const [last = "", ...whole] = (rest + decoder.write(chunk)).split("\n").reverse();
      rest = last;
      this.lines.push(...whole.reverse().map((line) => JSON.parse(line) as LogLine));
      this.#wake();
    });
  }

  async next(event: string): Promise<LogLine> {
    for (;;) {
      const found = this.lines.find((line) => line["event"] === event && !this.#taken.has(line));
      if (found !== undefined) {
        this.#taken.add(found);
        return found;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
