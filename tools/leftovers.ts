/**
 * Processes and directories that a tool leaves nowhere, whichever way it ends: interrupted (SIGINT, SIGTERM), by a
 * fault, or done.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";

const CODES = { SIGINT: 130, SIGTERM: 143 } as const;
const undone = new Set<() => void>();

/** Undoes something when this process ends, the latest first; calling the answer takes that back. */
export function undoAtEnd(undo: () => void): () => void {
  if (undone.size === 0) listen("on");
  undone.add(undo);
  return () => {
    undone.delete(undo);
    if (undone.size === 0) listen("off");
  };
}

/** A child does not outlive this process. */
export function endWithThis<Child extends ChildProcess>(child: Child): Child {
  child.once(
    "exit",
    undoAtEnd(() => void child.kill("SIGKILL")),
  );
  return child;
}

/** A server that is told to end at once gives its processes five seconds. */
const QUIT_MS = 8_000;
const LOOK_MS = 20;
const NOBODY = new Int32Array(new SharedArrayBuffer(4));

/** Ends a PostgreSQL by its `postmaster.pid`, and waits until it writes no more: nothing else is left to do. */
export function quitServer(pidFile: string): void {
  try {
    const pid = Number.parseInt(readFileSync(pidFile, "utf8"), 10);
    process.kill(pid, "SIGQUIT");
    for (let waited = 0; waited < QUIT_MS && existsSync(pidFile); waited += LOOK_MS) {
      Atomics.wait(NOBODY, 0, 0, LOOK_MS);
    }
  } catch {
    // It is not there, or not any more.
  }
}

/** Removes a directory when this process ends; calling the answer takes that back. */
export function removeAtEnd(directory: string): () => void {
  // Processes in it may still be dying.
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
