/**
 * The port of a daemon with workers, in the parent: each worker accepts on one shared socket. While there is none,
 * connections wait in that socket. A worker with more connections than the others, or with its full share of the
 * limits, passes a connection on to another through here. `[limits] max_connections`
 */
import { once } from "node:events";
import net from "node:net";
import { getSystemErrorName } from "node:util";
import { networkOf } from "../base/addresses.ts";
import { ToldCount } from "./told-count.ts";

/** A bound socket on which this process does not listen. */
export interface PortHandle {
  close(): void;
}

export interface PortWorker {
  /** Counted from 1. */
  readonly number: number;
  listen(handle: PortHandle): void;
  hand(socket: net.Socket, passing: Passing): void;
  /** Tells the worker the lowest connection count of the others; undefined if there is no other. */
  tellLeast(count: number | undefined): void;
  /** Tells the worker that no other has room for connections of a network; undefined: for any. */
  tellFull(network: string | undefined): void;
}

/** A connection that is passed from one worker to another. */
export interface Passing {
  /** The workers that had no room for it. */
  readonly tried: readonly number[];
  /** True if none of them had room for any connection at all. */
  readonly isWhole: boolean;
}

/** Connections that may wait for a worker; further ones are closed. */
const MAX_WAITING = 1_024;

export class SharedPort {
  readonly #workers = new Map<PortWorker, number>();
  /** The count last told to each worker. */
  readonly #told = new Map<PortWorker, number | undefined>();
  /** Connections that wait for a worker to start. */
  readonly #waiting = new Map<net.Socket, Passing>();
  readonly #count: number;
  readonly #telling = new ToldCount(() => this.#tellAll());
  #handle: PortHandle | undefined;
  #isClosed = false;

  /** `count` is the intended number of workers. */
  constructor(count: number) {
    this.#count = count;
  }

  /** The connections of every worker, as last reported. */
  get connectionCount(): number {
    let count = this.#waiting.size;
    for (const held of this.#workers.values()) count += held;
    return count;
  }

  /** Binds the port; connections are accepted once a worker joins. */
  async listen(host: string, port: number): Promise<net.AddressInfo> {
    const bound = await probe(host, port);
    this.#handle = bind(bound);
    return bound;
  }

  /** Lets a worker accept. */
  join(worker: PortWorker): void {
    // The worker was started before the shutdown.
    if (this.#isClosed) return;
    if (this.#handle === undefined) throw new Error("the port is not bound");
    this.#workers.set(worker, 0);
    worker.listen(this.#handle);
    // Sent at once: a worker that knows of no other keeps every connection.
    this.#tellAll();
    for (const [socket, passing] of [...this.#waiting]) {
      this.#waiting.delete(socket);
      if (!this.#hand(socket, passing)) socket.destroy();
    }
  }

  /** Removes a worker that has exited, with its connections. */
  leave(worker: PortWorker): void {
    this.#workers.delete(worker);
    this.#told.delete(worker);
    this.#telling.changed(0);
  }

  /** Notes the connection count of a worker. */
  has(worker: PortWorker, count: number): void {
    if (!this.#workers.has(worker)) return;
    this.#workers.set(worker, count);
    this.#telling.changed(count);
  }

  passed(worker: PortWorker, socket: net.Socket, passing: Passing): void {
    const address = socket.remoteAddress;
    // The peer may have disconnected already.
    if (address === undefined || this.#isClosed) {
      socket.destroy();
      return;
    }
    if (this.#hand(socket, passing, worker)) return;
    socket.destroy();
    for (const one of this.#workers.keys())
      one.tellFull(passing.isWhole ? undefined : networkOf(address));
  }

  /** Releases the port; the workers close by themselves. */
  close(): void {
    this.#isClosed = true;
    this.#telling.close();
    this.#handle?.close();
    this.#handle = undefined;
    for (const socket of this.#waiting.keys()) socket.destroy();
  }

  /** Hands the connection to the worker with the fewest; false if none has room. */
  #hand(socket: net.Socket, passing: Passing, from?: PortWorker): boolean {
    const { tried } = passing;
    const free = [...this.#workers.keys()].filter(({ number }) => !tried.includes(number));
    const others = free.filter((one) => one !== from);
    const [worker] = (others.length > 0 ? others : free).sort(
      (left, right) => this.#heldBy(left) - this.#heldBy(right),
    );
    if (worker !== undefined) {
      this.#workers.set(worker, this.#heldBy(worker) + 1);
      worker.hand(socket, passing);
      return true;
    }
    if (this.#workers.size < this.#count && this.#waiting.size < MAX_WAITING) {
      this.#wait(socket, passing);
      return true;
    }
    return false;
  }

  #wait(socket: net.Socket, passing: Passing): void {
    this.#waiting.set(socket, passing);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.#waiting.delete(socket));
  }

  #heldBy(worker: PortWorker): number {
    return this.#workers.get(worker) ?? 0;
  }

  #tellAll(): void {
    if (this.#isClosed) return;
    for (const worker of this.#workers.keys()) {
      const least = this.#leastBeside(worker);
      if (this.#told.has(worker) && this.#told.get(worker) === least) continue;
      this.#told.set(worker, least);
      worker.tellLeast(least);
    }
  }

  #leastBeside(own: PortWorker): number | undefined {
    let least: number | undefined;
    for (const [worker, held] of this.#workers) {
      if (worker !== own && (least === undefined || held < least)) least = held;
    }
    return least;
  }
}

/** Checks that a port is free, and returns its number if the system chose one. */
async function probe(host: string, port: number): Promise<net.AddressInfo> {
  const server = net.createServer((socket) => socket.destroy());
  server.listen({ host, port, exclusive: true });
  await once(server, "listening");
  const bound = server.address() as net.AddressInfo;
  server.close();
  await once(server, "close");
  return bound;
}

/** The untyped part of `node:net` with which `node:cluster` binds ports for its workers. */
interface PortBinding {
  _createServerHandle(address: string, port: number, family: 4 | 6): PortHandle | number;
}

function bind({ address, port, family }: net.AddressInfo): PortHandle {
  const handle = (net as unknown as PortBinding)._createServerHandle(
    ...([address, port, family === "IPv6" ? 6 : 4] as const),
  );
  if (typeof handle === "number") {
    const code = getSystemErrorName(handle);
    throw Object.assign(new Error(`bind ${code} ${address}:${port}`), { code });
  }
  return handle;
}
