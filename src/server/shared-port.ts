/**
 * The port of a daemon with workers, at their parent: each worker accepts on it for itself, by one socket
 * that all of them have. While there is none, connections wait in that socket. A worker that has more
 * than the others, or its full share of the limits, passes a connection on to another by way of here.
 * `[limits] max_connections`
 */
import { once } from "node:events";
import net from "node:net";
import { getSystemErrorName } from "node:util";
import { networkOf } from "../base/addresses.ts";
import { ToldCount } from "./told-count.ts";

/** A socket that is bound, and on which this process does not listen. */
export interface PortHandle {
  close(): void;
}

export interface PortWorker {
  /** From 1 on. */
  readonly number: number;
  listen(handle: PortHandle): void;
  hand(socket: net.Socket, passing: Passing): void;
  /** Tells it how few connections another worker has; undefined: there is no other. */
  tellLeast(count: number | undefined): void;
  /** Tells it that nobody has room for connections of a network; undefined: for any. */
  tellFull(network: string | undefined): void;
}

/** A connection on its way from one worker to another. */
export interface Passing {
  /** The workers that have no room for it. */
  readonly tried: readonly number[];
  /** True where none of them has room for any other connection either. */
  readonly isWhole: boolean;
}

/** More than these are closed. */
const MAX_WAITING = 1_024;

export class SharedPort {
  readonly #workers = new Map<PortWorker, number>();
  /** What each was told last. */
  readonly #told = new Map<PortWorker, number | undefined>();
  /** For the workers that are to come. */
  readonly #waiting = new Map<net.Socket, Passing>();
  readonly #count: number;
  readonly #telling = new ToldCount(() => this.#tellAll());
  #handle: PortHandle | undefined;
  #isClosed = false;

  /** `count` is the number of workers that there are to be. */
  constructor(count: number) {
    this.#count = count;
  }

  /** Connections of all workers, as they have told. */
  get connectionCount(): number {
    let count = this.#waiting.size;
    for (const held of this.#workers.values()) count += held;
    return count;
  }

  /** Binds the port; nobody accepts before a worker does. */
  async listen(host: string, port: number): Promise<net.AddressInfo> {
    const bound = await probe(host, port);
    this.#handle = bind(bound);
    return bound;
  }

  /** A worker accepts from now on. */
  join(worker: PortWorker): void {
    // It was begun before the daemon was told to end.
    if (this.#isClosed) return;
    if (this.#handle === undefined) throw new Error("the port is not bound");
    this.#workers.set(worker, 0);
    worker.listen(this.#handle);
    // At once: who has heard of no other worker keeps every connection.
    this.#tellAll();
    for (const [socket, passing] of [...this.#waiting]) {
      this.#waiting.delete(socket);
      if (!this.#hand(socket, passing)) socket.destroy();
    }
  }

  /** A worker is gone, and its connections with it. */
  leave(worker: PortWorker): void {
    this.#workers.delete(worker);
    this.#told.delete(worker);
    this.#telling.changed(0);
  }

  /** A worker has so many connections. */
  has(worker: PortWorker, count: number): void {
    if (!this.#workers.has(worker)) return;
    this.#workers.set(worker, count);
    this.#telling.changed(count);
  }

  passed(worker: PortWorker, socket: net.Socket, passing: Passing): void {
    const address = socket.remoteAddress;
    // Its peer may be gone already.
    if (address === undefined || this.#isClosed) {
      socket.destroy();
      return;
    }
    if (this.#hand(socket, passing, worker)) return;
    socket.destroy();
    for (const one of this.#workers.keys())
      one.tellFull(passing.isWhole ? undefined : networkOf(address));
  }

  /** Lets the port go; the workers stop by themselves. */
  close(): void {
    this.#isClosed = true;
    this.#telling.close();
    this.#handle?.close();
    this.#handle = undefined;
    for (const socket of this.#waiting.keys()) socket.destroy();
  }

  /** To the worker with the fewest; false where none has room for it. */
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

/** Finds out whether a port is free, and its number where the system chooses one. */
async function probe(host: string, port: number): Promise<net.AddressInfo> {
  const server = net.createServer((socket) => socket.destroy());
  server.listen({ host, port, exclusive: true });
  await once(server, "listening");
  const bound = server.address() as net.AddressInfo;
  server.close();
  await once(server, "close");
  return bound;
}

/** The part of `node:net` by which `node:cluster` binds ports for its workers; it has no types. */
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
