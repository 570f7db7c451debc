/**
 * The process groups of running programs. Each is ended as a whole, and all of them when this
 * process exits or is killed, since a process in another group does not get this one's signals.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { OrphanWatch } from "./orphan-watch.ts";
import { codeOf, reasonOf } from "./thrown.ts";

/** A program to start without a shell. */
export interface ProgramStart {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
}

/** A program that was asked to start, which later reports if it did; or the reason why it cannot. */
export type StartedProgram =
  | {
      readonly kind: "child";
      readonly child: Partial<ChildProcessWithoutNullStreams> &
        Pick<ChildProcessWithoutNullStreams, "on" | "pid">;
    }
  | { readonly kind: "fault"; readonly message: string };

/** Starts programs, and tracks which of them run. */
export class ProcessGroups {
  readonly #running = new Set<number>();
  readonly #watch = new OrphanWatch();
  readonly #endAll = (): void => {
    for (const pid of this.#running) killGroup(pid);
  };

  /** Starts a program in a group of its own. Without free file descriptors it has no streams. */
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
      // Some errors of spawn are events, others exceptions.
      const isLong = codeOf(error) === "E2BIG";
      const message = isLong ? "its arguments are longer than can be handed over" : reasonOf(error);
      return { kind: "fault", message };
    }
  }

  #add(pid: number): void {
    if (this.#running.size === 0) process.on("exit", this.#endAll);
    this.#running.add(pid);
    this.#watch.add(-pid);
  }

  #delete(pid: number): void {
    this.#running.delete(pid);
    this.#watch.delete(-pid);
    if (this.#running.size === 0) process.off("exit", this.#endAll);
  }
}

/** Ends a process group; one that is already gone is no error. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals = "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // The group is gone, or its rest runs as another user.
    if (codeOf(error) !== "ESRCH" && codeOf(error) !== "EPERM") throw error;
  }
}

/** Describes why a program did not start. */
export function startFault(error: unknown, program: string): string {
  switch (codeOf(error)) {
    case "ENOENT": {
      if (program.includes("/") && existsSync(program)) {
        return `cannot be started: what runs "${program}" is not there (see its first line, #!)`;
      }
      const remark = /\s/.test(program) ? " (arguments are no part of a program's name)" : "";
      return `cannot be started: there is no program "${program}", or no such directory${remark}`;
    }
    case "EACCES":
      return `cannot be started: "${program}" may not be executed`;
    default:
      return `cannot be started: ${reasonOf(error)}`;
  }
}
