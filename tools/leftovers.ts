/**
 * Cleans up processes and directories of a tool however it ends: interrupted (SIGINT, SIGTERM), by
 * a fault, or normally.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";

const CODES = { SIGINT: 130, SIGTERM: 143 } as const;
const undone = new Set<() => void>();

/** Registers an undo for the end of this process, latest first; the returned function cancels it. */
export function undoAtEnd(undo: () => void): () => void {
  if (undone.size === 0) listen("on");
  undone.add(undo);
  return () => {
    undone.delete(undo);
    if (undone.size === 0) listen("off");
  };
}

/** Ends a child together with this process. */
export function endWithThis<Child extends ChildProcess>(child: Child): Child {
  child.once(
    "exit",
    undoAtEnd(() => void child.kill("SIGKILL")),
  );
  return child;
}

/** PostgreSQL gives its processes five seconds in an immediate shutdown. */
const QUIT_MS = 8_000;
const LOOK_MS = 20;
const NOBODY = new Int32Array(new SharedArrayBuffer(4));

/** Ends a PostgreSQL by its `postmaster.pid`, and waits synchronously until it has stopped writing. */
export function quitServer(pidFile: string): void {
  try {
    const pid = Number.parseInt(readFileSync(pidFile, "utf8"), 10);
    process.kill(pid, "SIGQUIT");
    for (let waited = 0; waited < QUIT_MS && existsSync(pidFile); waited += LOOK_MS) {
      Atomics.wait(NOBODY, 0, 0, LOOK_MS);
    }
  } catch {
    // It has ended, or never started.
  }
}

/** Removes a directory when this process ends; the returned function cancels that. */
export function removeAtEnd(directory: string): () => void {
  // Retries, because dying processes may still write there.
  const patient = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 };
  return undoAtEnd(() => rmSync(directory, patient));
}

function listen(change: "on" | "off"): void {
  process[change]("exit", undoAll);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process[change](signal, leave);
}

function leave(signal: keyof typeof CODES): void {
  process.exit(CODES[signal]);
}

function undoAll(): void {
  for (const undo of [...undone].reverse()) {
    try {
      undo();
    } catch (error) {
      process.stderr.write(`${String(error)}\n`);
    }
  }
}
