/**
 * A worker, as its parent has it: a process with a link over a socket pair, a channel over which it is
 * handed the socket that it accepts on, and connections, and its log, line by line.
 */
import { type ChildProcess, type SendHandle, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { Environment } from "../base/environment.ts";
import { type FaultCodec, Link } from "../base/link.ts";
import { OrphanWatch } from "../base/orphan-watch.ts";
import { emitShared } from "./node-sockets.ts";
import type { Passing, PortHandle, PortWorker } from "./shared-port.ts";

/** Takes a connection that a worker passes on. */
export type OnPassed = (socket: Socket, passing: Passing) => void;

interface WorkerProcessOptions {
  /** A built program, which opens the other end by `openWorkerChannel`. */
  readonly script: string;
  readonly env: Environment;
  readonly codec: FaultCodec;
  /** From 1 on. */
  readonly number: number;
  /** Hears whole lines of what the worker writes on its standard output. */
  onLines(text: string): void;
  readonly onPassed: OnPassed;
}

interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The descriptor of the link within the worker; the channel of Node has the one before. */
export const LINK_DESCRIPTOR = 4;
/** A worker that runs ends by itself without its parent; one that is stopped, or in a loop without end, cannot. */
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
      // It could not be started at all.
      child.once("error", () => resolve({ code: 1, signal: null }));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  listen(handle: PortHandle): void {
    // A worker that is gone by now is replaced, and the next one is given it.
    this.#child.send(
      "listen",
      handle as unknown as SendHandle,
      { keepOpen: true },
      () => undefined,
    );
  }

  /** What cannot be handed over is closed. */
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
 * Stops a socket that is to be handed to another process, in the turn of the loop that it was received in: Node
 * begins to read from one at once, and what it has read would be lost. No call of `node:net` stops it as soon.
 */
export function stopReading(socket: Socket): void {
  const { _handle: handle } = socket as unknown as { readonly _handle?: ReadingHandle | null };
  if (handle == null) return;
  handle.reading = false;
  handle.readStop();
}
