/**
 * Decides which TCP connections come in: so many in all, so many from one address, and none that
 * does not finish its handshake in time. Counts from accept to close.   `[limits]`
 */
import type { Socket } from "node:net";
import type { LimitsConfig } from "../wire/limits-section.ts";

/** The address, which the raw socket and the TLS socket over it have in common. */
type Endpoint = Pick<Socket, "remoteAddress" | "remotePort">;

interface Handshake {
  readonly socket: Socket;
  readonly since: number;
}

/** The accepted sockets of one listener. */
export class Admission {
  readonly #limits: () => LimitsConfig;
  readonly #sockets = new Set<Socket>();
  readonly #perAddress = new Map<string, number>();
  #sayEmpty: () => void = () => undefined;
  /** By peer, oldest first. */
  readonly #handshakes = new Map<string, Handshake>();

  constructor(limits: () => LimitsConfig) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#sockets.size;
  }

  /** Takes a socket in, or answers that there is no room. */
  admit(socket: Socket): boolean {
    const { maxConnections, maxConnectionsPerAddress } = this.#limits();
    const address = socket.remoteAddress;
    // The peer was gone before it could be served.
    if (address === undefined) return false;
    const held = this.#perAddress.get(address) ?? 0;
    if (this.count >= maxConnections || held >= maxConnectionsPerAddress) return false;
    const peer = peerOf(socket);
    this.#sockets.add(socket);
    this.#perAddress.set(address, held + 1);
    this.#handshakes.set(peer, { socket, since: performance.now() });
    socket.once("close", () => this.#release(socket, address, peer));
    return true;
  }

  /** The handshake of this peer is done; answers with the socket that was admitted. */
  established(socket: Endpoint): Socket | undefined {
    const peer = peerOf(socket);
    const admitted = this.#handshakes.get(peer)?.socket;
    this.#handshakes.delete(peer);
    return admitted;
  }

  /** Ends handshakes that have taken too long. */
  sweep(now: number): void {
    const { headerTimeoutMs } = this.#limits();
    for (const { socket, since } of this.#handshakes.values()) {
      if (now - since <= headerTimeoutMs) break;
      socket.destroy();
    }
  }

  /** Ends every handshake: nobody has asked for anything in it yet. */
  endHandshakes(): void {
    for (const { socket } of this.#handshakes.values()) socket.destroy();
  }

  /** Resolves once there is no socket; nobody may be admitted any more. */
  emptied(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#sayEmpty = resolve;
    });
  }

  endAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #release(socket: Socket, address: string, peer: string): void {
    this.#sockets.delete(socket);
    if (this.#handshakes.get(peer)?.socket === socket) this.#handshakes.delete(peer);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
    if (this.count === 0) this.#sayEmpty();
  }
}

function peerOf({ remoteAddress, remotePort }: Endpoint): string {
  return `${remoteAddress} ${remotePort}`;
}
