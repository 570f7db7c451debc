/**
 * Runs the program of a task: without a shell, in a process group of its own that ends as a whole,
 * when its time is up, when nobody waits for it any more, and when its first process has ended.
 */
import { MAX_TIMER_MS } from "../../../base/deadline.ts";
import { killGroup, ProcessGroups, type StartedProgram } from "../../../base/process-groups.ts";
import { codeOf, reasonOf } from "../../../base/thrown.ts";
import { CapturedOutput } from "./program-output.ts";

export interface TaskProgram {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: string | null;
  readonly timeoutMs: number;
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal;
  /** Of each stream. */
  readonly maxOutputBytes: number;
}

export type ProgramOutcome =
  | {
      readonly kind: "ended";
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly isTimedOut: boolean;
      /** It put out so much that it was ended for it. */
      readonly isFlooding: boolean;
      readonly durationMs: number;
      readonly stdout: CapturedOutput;
      readonly stderr: CapturedOutput;
    }
  | { readonly kind: "not-started"; readonly message: string };

/** Of each stream: reading and hashing takes the daemon's own time. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
/** Between asking a group to end and ending it. */
const GRACE_MS = 1_000;
/** For what has left the group and holds the streams open. */
const STREAMS_MS = 1_000;

/** Resolves when it is over, in whatever way. */
export function runTaskProgram(
  task: TaskProgram,
  groups: ProcessGroups = new ProcessGroups(),
): Promise<ProgramOutcome> {
  const { signal } = task;
  if (signal.aborted) {
    return Promise.resolve({ kind: "not-started", message: "nobody waits for it any more" });
  }
  const { program, args, env, cwd } = task;
  const started = groups.start({ program, args, env, directory: cwd });
  if (started.kind === "fault") {
    const message = `the program "${program}" cannot be started: ${started.message}`;
    return Promise.resolve({ kind: "not-started", message });
  }
  return new Promise((resolve) => {
    new Supervision(started.child, task, resolve);
  });
}

type ChildProcess = Extract<StartedProgram, { kind: "child" }>["child"];

class Supervision {
  readonly #child: ChildProcess;
  readonly #task: TaskProgram;
  readonly #resolve: (outcome: ProgramOutcome) => void;
  readonly #stdout: CapturedOutput;
  readonly #stderr: CapturedOutput;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  #grace: NodeJS.Timeout | undefined;
  #isTimedOut = false;
  #isFlooding = false;

  constructor(child: ChildProcess, task: TaskProgram, resolve: (outcome: ProgramOutcome) => void) {
    this.#child = child;
    this.#task = task;
    this.#resolve = resolve;
    this.#stdout = this.#capture(child.stdout);
    this.#stderr = this.#capture(child.stderr);
    this.#timer = setTimeout(() => this.#timeOut(), Math.min(task.timeoutMs, MAX_TIMER_MS));
    task.signal.addEventListener("abort", this.#abort, { once: true });
    child.on("error", (error) => this.#failToStart(error));
    child.on("exit", () => this.#leaderEnded());
    child.on("close", (code, signal) => this.#end(code, signal));
    // A program need not read what it is given.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(task.stdin ?? "");
  }

  #capture(stream: NodeJS.ReadableStream | undefined): CapturedOutput {
    const captured = new CapturedOutput(this.#task.maxOutputBytes);
    stream?.on("data", (chunk: Buffer) => {
      captured.push(chunk);
      if (captured.bytes <= MAX_STREAM_BYTES || this.#isFlooding) return;
      this.#isFlooding = true;
      killGroup(this.#child.pid);
    });
    return captured;
  }

  /** A process that is about to end cannot wait for others to end in good order. */
  readonly #abort = (): void => killGroup(this.#child.pid);

  #timeOut(): void {
    this.#isTimedOut = true;
    killGroup(this.#child.pid, "SIGTERM");
    this.#grace = setTimeout(() => killGroup(this.#child.pid), GRACE_MS);
  }

  /**
   * Processes that it left behind end with it; those that have left the group are not waited for.
   */
  #leaderEnded(): void {
    killGroup(this.#child.pid);
    clearTimeout(this.#grace);
    this.#grace = setTimeout(() => {
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
    }, STREAMS_MS);
  }

  #failToStart(error: Error): void {
    // Errors of a process that runs are told by how it ends.
    if (this.#child.pid !== undefined) return;
    this.#release();
    const message = codeOf(error) === "ENOENT" ? notFound(this.#task) : reasonOf(error);
    this.#resolve({ kind: "not-started", message });
  }

  #end(exitCode: number | null, signal: string | null): void {
    if (this.#child.pid === undefined) return;
    this.#release();
    this.#resolve({
      kind: "ended",
      ...{ exitCode, signal, isTimedOut: this.#isTimedOut, isFlooding: this.#isFlooding },
      durationMs: Math.round(performance.now() - this.#startedAt),
      ...{ stdout: this.#stdout, stderr: this.#stderr },
    });
  }

  #release(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#grace);
    this.#task.signal.removeEventListener("abort", this.#abort);
  }
}

/** The platform says the same of a missing directory. */
function notFound({ program }: TaskProgram): string {
  return `the program "${program}", or its directory, does not exist`;
}
