/**
 * Ends processes and process groups once this process is gone, killed ones included: a shell beside it reads
 * from a pipe which of them run, and the pipe ends with whoever writes it. They get SIGTERM, and SIGKILL two
 * seconds later. Where there is no shell they are left to themselves.
 */
import { type ChildProcess, spawn } from "node:child_process";

const SHELL = "/bin/sh";
const PATH = "/usr/bin:/bin";
/** Signals to all processes of a terminal or a service are not for it: it ends with its pipe. */
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

/** Each is a pid, or a group as kill(2) has it: its leader's pid, negative. */
export class OrphanWatch {
  readonly #all = new Set<number>();
  #shell: ChildProcess | undefined;

  /** From now on it is not to outlive this process. */
  add(one: number): void {
    this.#all.add(one);
    if (this.#shell === undefined) this.#open();
    else this.#tell(`+ ${one}`);
  }

  /** It is gone. The shell is there as long as there are any. */
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
      // One that was ended by somebody is started again with the next of them.
      shell.on("error", forget);
      shell.on("exit", forget);
      shell.stdin?.on("error", forget);
      shell.unref();
      (shell.stdin as { unref?(): void } | null)?.unref?.();
      for (const one of this.#all) this.#tell(`+ ${one}`);
    } catch {
      // Handles have run out: the next of them tries again.
      this.#shell = undefined;
    }
  }

  #tell(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`);
  }
}
