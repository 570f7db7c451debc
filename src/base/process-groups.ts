/**
 * The process groups of the programs that run now. Each is ended as a whole, and all of them with this
 * process, however it comes to exit, or is killed: what is in a group of its own gets no signal of this one's.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { codeOf, reasonOf } from "./thrown.ts";

/** A program that is started, without a shell. */
export interface ProgramStart {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
}

/** A program that was asked to start, which it tells of itself; or why it cannot. */
export type StartedProgram =
  | {
      readonly kind: "child";
      readonly child: Partial<ChildProcessWithoutNullStreams> &
        Pick<ChildProcessWithoutNullStreams, "on" | "pid">;
    }
  | { readonly kind: "fault"; readonly message: string };

/** Starts programs, and knows which of them run. */
export class ProcessGroups {
  readonly #running = new Set<number>();
  readonly #watch = new OrphanWatch();
  readonly #endAll = (): void => {
    for (const pid of this.#running) killGroup(pid);
  };

  /** Starts a program in a group of its own. Where handles have run out, it has no streams. */
  start({ program, args, env, directory: cwd }: ProgramStart): StartedProgram {
    try {
      const child = spawn(program, args, { cwd, env, detached: true, stdio: "pipe" });
      const { pid } = child;
      if (pid !== undefined) {
        this.#add(pid);
        child.on("close", () => this.#delete(pid));
      }
      return { kind: "child", child };
    } catch (error) {
      // Some faults of starting are told by an event, and others thrown.
      const isLong = codeOf(error) === "E2BIG";
      const message = isLong ? "its arguments are longer than can be handed over" : reasonOf(error);
      return { kind: "fault", message };
    }
  }

  #add(pid: number): void {
    if (this.#running.size === 0) process.on("exit", this.#endAll);
    this.#running.add(pid);
    this.#watch.add(pid);
  }

  #delete(pid: number): void {
    this.#running.delete(pid);
    this.#watch.delete(pid);
    if (this.#running.size === 0) process.off("exit", this.#endAll);
  }
}

/** Ends a process group; one that is gone already is no fault. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals = "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // Gone, or what is left of it runs as somebody else.
    if (codeOf(error) !== "ESRCH" && codeOf(error) !== "EPERM") throw error;
  }
}

const SHELL = "/bin/sh";
const PATH = "/usr/bin:/bin";
/** Signals to all processes of a terminal or a service are not for it: it ends with its pipe. */
const SCRIPT = `trap '' TERM INT HUP
groups=
while read -r word one; do
  case $word in
    +) groups="$groups $one" ;;
    -) left=
      for other in $groups; do [ "$other" = "$one" ] || left="$left $other"; done
      groups=$left ;;
  esac
done
alive=
for one in $groups; do kill -s TERM -- "-$one" 2>/dev/null && alive="$alive $one"; done
[ -z "$alive" ] || sleep 2
for one in $alive; do kill -s KILL -- "-$one" 2>/dev/null; done`;

/**
 * Ends process groups once this process is gone, killed ones included: a shell beside it reads from a
 * pipe which groups run, and the pipe ends with whoever writes it. They get SIGTERM, and SIGKILL two
 * seconds later. Where there is no shell they are left to themselves.
 */
class OrphanWatch {
  readonly #groups = new Set<number>();
  #shell: ChildProcess | undefined;

  /** From now on a group is not to outlive this process. */
  add(pid: number): void {
    this.#groups.add(pid);
    if (this.#shell === undefined) this.#open();
    else this.#tell(`+ ${pid}`);
  }

  /** The group is gone. The shell is there as long as there are any. */
  delete(pid: number): void {
    if (!this.#groups.delete(pid)) return;
    this.#tell(`- ${pid}`);
    if (this.#groups.size > 0) return;
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }

  #open(): void {
    try {
      const shell = spawn(SHELL, ["-c", SCRIPT], {
        env: { PATH },
        detached: true,
        stdio: ["pipe", "ignore", "ignore"],
      });
      this.#shell = shell;
      const forget = (): void => {
        if (this.#shell === shell) this.#shell = undefined;
      };
      // One that was ended by somebody is started again with the next group.
      shell.on("error", forget);
      shell.on("exit", forget);
      shell.stdin?.on("error", forget);
      shell.unref();
      (shell.stdin as { unref?(): void } | null)?.unref?.();
      for (const pid of this.#groups) this.#tell(`+ ${pid}`);
    } catch {
      // Handles have run out: the next group tries again.
      this.#shell = undefined;
    }
  }

  #tell(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`);
  }
}
