/**
 * Runs a task's program without a shell, in its own process group. The whole group is killed on timeout, on abort, and
 * when its first process ends.
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
  /** Aborted when no caller waits for the program. */
  readonly signal: AbortSignal;
  /** The limit per stream. */
  readonly maxOutputBytes: number;
}

export type ProgramOutcome =
  | {
      readonly kind: "ended";
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly isTimedOut: boolean;
      /** True if it was killed for excess output. */
      readonly isFlooding: boolean;
      readonly durationMs: number;
      readonly stdout: CapturedOutput;
      readonly stderr: CapturedOutput;
    }
  | { readonly kind: "not-started"; readonly message: string };

/** The limit per stream, since reading and hashing take the daemon's own time. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
/** The time between SIGTERM and SIGKILL. */
const GRACE_MS = 1_000;
/** The wait for processes outside the group that hold the streams open. */
const STREAMS_MS = 1_000;

/** Resolves once the program has ended or failed to start. */
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
    // A program need not read its input.
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

  /** Kills at once: the daemon may itself be about to end. */
  readonly #abort = (): void => killGroup(this.#child.pid);

  #timeOut(): void {
    this.#isTimedOut = true;
    killGroup(this.#child.pid, "SIGTERM");
    this.#grace = setTimeout(() => killGroup(this.#child.pid), GRACE_MS);
  }

  /** Kills the remaining group; processes outside it are not waited for. */
  #leaderEnded(): void {
    killGroup(this.#child.pid);
    clearTimeout(this.#grace);
    this.#grace = setTimeout(() => {
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
    }, STREAMS_MS);
  }

  #failToStart(error: Error): void {
    // Errors of a started process show in its exit.
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

/** ENOENT also means a missing directory. */
function notFound({ program }: TaskProgram): string {
  return `the program "${program}", or its directory, does not exist`;
}
