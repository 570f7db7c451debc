/**
 * A worker process as its parent holds it: a link over a socket pair, a channel that hands it the shared socket and
 * connections, and its log, line by line.
 */
import { type ChildProcess, type SendHandle, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { Environment } from "../base/environment.ts";
import { type FaultCodec, Link } from "../base/link.ts";
import { OrphanWatch } from "../base/orphan-watch.ts";
import { emitShared } from "./node-sockets.ts";
import type { Passing, PortHandle, PortWorker } from "./shared-port.ts";

/** Called with a connection that a worker passes on. */
export type OnPassed = (socket: Socket, passing: Passing) => void;

interface WorkerProcessOptions {
  /** The built program, which calls `openWorkerChannel`. */
  readonly script: string;
  readonly env: Environment;
  readonly codec: FaultCodec;
  /** Counted from 1. */
  readonly number: number;
  /** Called with complete lines of the worker's standard output. */
  onLines(text: string): void;
  readonly onPassed: OnPassed;
}

export interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Returns the signal or the exit code of an ended worker, for people. */
export function describeExit({ code, signal }: WorkerExit): string {
  return signal ?? `exit code ${code}`;
}

/** The descriptor of the link within the worker; Node's IPC channel has the one before. */
export const LINK_DESCRIPTOR = 4;
/**
 * Kills workers that outlive the parent: a running one ends by itself, but not one that is stopped or in an endless
 * loop.
 */
const ORPHANS = new OrphanWatch();
/** Longer lines are passed on in pieces. */
const MAX_LINE_BYTES = 1024 * 1024;

export class WorkerProcess implements PortWorker {
  readonly #child: ChildProcess;
  readonly number: number;
  readonly link: Link;
  readonly exited: Promise<WorkerExit>;

  constructor({ script, number, env, codec, onLines, onPassed }: WorkerProcessOptions) {
    const child = spawn(process.execPath, [...process.execArgv, script, String(number)], {
      env: { ...env },
      stdio: ["ignore", "pipe", "inherit", "ipc", "pipe"],
    });
    this.#child = child;
    this.number = number;
    const { pid } = child;
    if (pid !== undefined) {
      ORPHANS.add(pid);
      child.once("exit", () => ORPHANS.delete(pid));
    }
    child.on("message", (passing, socket) => {
      if (!(socket instanceof Socket)) return;
      stopReading(socket);
      onPassed(socket, passing as Passing);
    });
    const socket = child.stdio[LINK_DESCRIPTOR] as Socket;
    emitShared(socket);
    this.link = new Link(socket, codec);
    passLines(child.stdout as Readable, onLines);
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
      // Emitted if the process could not be started.
      child.once("error", () => resolve({ code: 1, signal: null }));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  listen(handle: PortHandle): void {
    // An exited worker is replaced, and its successor gets the handle.
    this.#child.send(
      "listen",
      handle as unknown as SendHandle,
      { keepOpen: true },
      () => undefined,
    );
  }

  /** Hands a socket to the worker; closes it on failure. */
  hand(socket: Socket, passing: Passing): void {
    this.#child.send(passing, socket, { keepOpen: false }, (error) => {
      if (error !== null) socket.destroy();
    });
  }

  tellLeast(count: number | undefined): void {
    this.link.tell("least", count ?? null);
  }

  tellFull(network: string | undefined): void {
    this.link.tell("full", network ?? null);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

function passLines(stream: Readable, onLines: (text: string) => void): void {
  let rest: Buffer[] = [];
  let length = 0;
  const pass = (chunk: Buffer): void => {
    onLines(Buffer.concat([...rest, chunk]).toString("utf8"));
    rest = [];
    length = 0;
  };
  stream.on("data", (chunk: Buffer) => {
    const end = chunk.lastIndexOf("\n");
    if (end >= 0) pass(chunk.subarray(0, end));
    const last = chunk.subarray(end + 1);
    if (last.length === 0) return;
    rest.push(last);
    length += last.length;
    if (length > MAX_LINE_BYTES) pass(Buffer.alloc(0));
  });
  stream.on("error", () => undefined);
}

interface ReadingHandle {
  reading: boolean;
  readStop(): number;
}

/**
 * Stops reading from a socket that is handed to another process. Node starts reading at once, and octets it read
 * would be lost; this stops it within the turn in which the socket arrived, which no call of `node:net` does.
 */
export function stopReading(socket: Socket): void {
  const { _handle: handle } = socket as unknown as { readonly _handle?: ReadingHandle | null };
  if (handle == null) return;
  handle.reading = false;
  handle.readStop();
}
