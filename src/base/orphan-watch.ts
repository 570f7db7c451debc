/**
 * Ends processes and process groups once this process is gone, even if it was killed: a shell
 * beside it reads their ids from a pipe, which ends together with this process. They get SIGTERM,
 * and SIGKILL two seconds later. Without a shell they are not ended.
 */
import { type ChildProcess, spawn } from "node:child_process";

const SHELL = "/bin/sh";
const PATH = "/usr/bin:/bin";
/** Ignores signals to the whole terminal or service, since it ends with its pipe. */
const SCRIPT = `trap '' TERM INT HUP
all=
while read -r word one; do
  case $word in
    +) all="$all $one" ;;
    -) left=
      for other in $all; do [ "$other" = "$one" ] || left="$left $other"; done
      all=$left ;;
  esac
done
alive=
for one in $all; do kill -s TERM -- "$one" 2>/dev/null && alive="$alive $one"; done
[ -z "$alive" ] || sleep 2
for one in $alive; do kill -s KILL -- "$one" 2>/dev/null; done`;

/** Watches ids as in kill(2): a pid, or for a group its leader's pid, negated. */
export class OrphanWatch {
  readonly #all = new Set<number>();
  #shell: ChildProcess | undefined;

  /** Adds a process that must not outlive this one. */
  add(one: number): void {
    this.#all.add(one);
    if (this.#shell === undefined) this.#open();
    else this.#tell(`+ ${one}`);
  }

  /** Removes a process that is gone. The shell ends with the last one. */
  delete(one: number): void {
    if (!this.#all.delete(one)) return;
    this.#tell(`- ${one}`);
    if (this.#all.size > 0) return;
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
      // A shell that somebody ended is started again with the next process.
      shell.on("error", forget);
      shell.on("exit", forget);
      shell.stdin?.on("error", forget);
      shell.unref();
      (shell.stdin as { unref?(): void } | null)?.unref?.();
      for (const one of this.#all) this.#tell(`+ ${one}`);
    } catch {
      // Out of file descriptors; the next process tries again.
      this.#shell = undefined;
    }
  }

  #tell(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`);
  }
}
