/**
 * The port of a daemon with workers: its parent accepts, counts by the limits of the whole, and hands
 * each connection to the worker that has the fewest. While there is none, connections wait.
 * `[limits] max_connections`
 */
import net from "node:net";
import { quietened } from "../base/quietened.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";

/** A worker that takes connections. */
export interface SocketTaker {
  hand(id: number, socket: net.Socket, onFailed: () => void): void;
}

export interface SharedPortOptions {
  limits(): Pick<LimitsConfig, "maxConnections" | "maxConnectionsPerAddress">;
  onFault(error: unknown): void;
}

export class SharedPort {
  readonly #options: SharedPortOptions;
  readonly #acceptor: net.Server;
  /** By worker, the addresses of its connections by their numbers. */
  readonly #held = new Map<SocketTaker, Map<number, string>>();
  readonly #waiting = new Map<number, net.Socket>();
  readonly #perAddress = new Map<string, number>();
  #count = 0;
  #number = 0;

  constructor(options: SharedPortOptions) {
    this.#options = options;
    const accept = (socket: net.Socket): void => this.#accept(socket);
    this.#acceptor = net.createServer({ noDelay: true, pauseOnConnect: true }, accept);
  }

  /** Connections that were accepted and have not ended. */
  get connectionCount(): number {
    return this.#count;
  }

  listen(host: string, port: number): Promise<net.AddressInfo> {
    const acceptor = this.#acceptor;
    return new Promise((resolve, reject) => {
      acceptor.once("error", reject);
      acceptor.listen({ host, port, backlog: 1024 }, () => {
        acceptor.off("error", reject);
        acceptor.on("error", quietened(this.#options.onFault));
        resolve(acceptor.address() as net.AddressInfo);
      });
    });
  }

  /** Hands connections to a worker from now on. */
  join(taker: SocketTaker): void {
    this.#held.set(taker, new Map());
    for (const [id, socket] of this.#waiting) {
      this.#waiting.delete(id);
      this.#hand(id, socket, socket.remoteAddress ?? "");
    }
  }

  /** A connection of a worker has ended. */
  released(taker: SocketTaker, id: number): void {
    const held = this.#held.get(taker);
    const address = held?.get(id);
    if (address === undefined) return;
    held?.delete(id);
    this.#forget(address);
  }

  /** A worker is gone, and its connections with it. */
  leave(taker: SocketTaker): void {
    for (const address of this.#held.get(taker)?.values() ?? []) this.#forget(address);
    this.#held.delete(taker);
  }

  /** Accepts nothing more. */
  close(): void {
    this.#acceptor.close();
    for (const socket of this.#waiting.values()) socket.destroy();
  }

  #accept(socket: net.Socket): void {
    const { maxConnections, maxConnectionsPerAddress } = this.#options.limits();
    const address = socket.remoteAddress;
    const held = this.#perAddress.get(address ?? "") ?? 0;
    const isFull = this.#count >= maxConnections || held >= maxConnectionsPerAddress;
    // The peer may be gone before it could be served.
    if (address === undefined || isFull) {
      socket.destroy();
      return;
    }
    this.#count += 1;
    this.#perAddress.set(address, held + 1);
    this.#number += 1;
    if (this.#held.size > 0) this.#hand(this.#number, socket, address);
    else this.#wait(this.#number, socket, address);
  }

  #wait(id: number, socket: net.Socket, address: string): void {
    this.#waiting.set(id, socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      if (this.#waiting.delete(id)) this.#forget(address);
    });
  }

  #hand(id: number, socket: net.Socket, address: string): void {
    const [taker, held] = [...this.#held].reduce((best, one) =>
      one[1].size < best[1].size ? one : best,
    );
    held.set(id, address);
    taker.hand(id, socket, () => this.released(taker, id));
  }

  #forget(address: string): void {
    this.#count -= 1;
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }
}
