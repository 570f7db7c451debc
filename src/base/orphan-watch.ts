/**
 * Ends process groups once this process is gone, killed ones included: a shell beside it reads from a
 * pipe which groups run, and the pipe ends with whoever writes it. They get SIGTERM, and SIGKILL two
 * seconds later. Where there is no shell they are left to themselves.
 */
import { type ChildProcess, spawn } from "node:child_process";

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

export class OrphanWatch {
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
