/**
 * Decides which TCP connections come in, and stay: so many in all, so many from one address, none
 * that does not finish its handshake in time, and none that only keeps TLS busy. Counts from accept
 * to close.   `[limits]`
 */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type Placed, PlacedSet } from "../base/placed-set.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";

/** A connection that was let in. */
export interface Admitted extends Placed {
  readonly socket: Socket;
  readonly address: string;
  readonly port: number;
  /** As of `performance.now()`. */
  readonly since: number;
  /** False once its handshake is done. */
  isInHandshake: boolean;
}

/** The accepted sockets of one listener. */
export class ConnectionCaps {
  readonly #limits: () => LimitsConfig;
  readonly #all = new PlacedSet<Admitted>();
  readonly #perAddress = new Map<string, number>();
  #sayEmpty: () => void = () => undefined;

  constructor(limits: () => LimitsConfig) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Takes a socket in; undefined: there is no room. */
  admit(socket: Socket): Admitted | undefined {
    const { maxConnections, maxConnectionsPerAddress } = this.#limits();
    const { remoteAddress: address, remotePort: port = 0 } = socket;
    // The peer was gone before it could be served.
    if (address === undefined) return undefined;
    const held = this.#perAddress.get(address) ?? 0;
    if (this.count >= maxConnections || held >= maxConnectionsPerAddress) return undefined;
    const since = performance.now();
    const admitted: Admitted = { socket, address, port, since, isInHandshake: true, place: -1 };
    this.#all.add(admitted);
    this.#perAddress.set(address, held + 1);
    socket.on("close", () => this.#release(admitted));
    return admitted;
  }

  /** Its handshake is done. */
  established(admitted: Admitted): void {
    admitted.isInHandshake = false;
  }

  /** Ends handshakes that have taken too long. */
  sweep(now: number): void {
    const { headerTimeoutMs } = this.#limits();
    for (const { socket, since, isInHandshake } of this.#all) {
      if (isInHandshake && now - since > headerTimeoutMs) socket.destroy();
    }
  }

  /** Ends every handshake: nobody has asked for anything in it yet. */
  endHandshakes(): void {
    for (const { socket, isInHandshake } of this.#all) if (isInHandshake) socket.destroy();
  }

  /** Resolves once there is no socket; nobody may be admitted any more. */
  emptied(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#sayEmpty = resolve;
    });
  }

  endAll(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  #release(admitted: Admitted): void {
    const { address } = admitted;
    this.#all.delete(admitted);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
    if (this.count === 0) this.#sayEmpty();
  }
}

/** Octets allowed beside requests between two looks: some hundred updates; one a day is needed. */
const FREE_BYTES = 32 * 1024;
/** A record around each octet of a request is foolish, and allowed. */
const BYTES_PER_OCTET = 24;
const MOST_BYTES = 128 * 1024;

type Counted = Pick<Socket, "bytesRead">;

/**
 * Counts the octets that a peer sends beside its requests: the frames of TLS records, and messages
 * of TLS itself. To update a key costs forty microseconds and 27 octets, and TLS lets a peer do
 * nothing else all day: no other sign of it is to be had. One a connection.   RFC 8446 §4.6.3
 */
export class TlsOverhead {
  readonly #raw: Counted;
  readonly #secured: Counted;
  #rawBytes: number;
  #securedBytes: number;

  /** The socket that was accepted, and the one over it. */
  constructor(raw: Counted, secured: Pick<TLSSocket, "bytesRead">) {
    this.#raw = raw;
    this.#secured = secured;
    this.#rawBytes = raw.bytesRead;
    this.#securedBytes = secured.bytesRead;
  }

  /** Tells whether there was too much of it since the last look. */
  isExcessive(): boolean {
    const rawBytes = this.#raw.bytesRead;
    const securedBytes = this.#secured.bytesRead;
    const octets = securedBytes - this.#securedBytes;
    const beside = rawBytes - this.#rawBytes - octets;
    this.#rawBytes = rawBytes;
    this.#securedBytes = securedBytes;
    return beside > Math.min(MOST_BYTES, FREE_BYTES + BYTES_PER_OCTET * octets);
  }
}
