/**
 * Bounds the resources of connections: their number and age, a peer's traffic outside requests, and the octets
 * queued for all peers of a daemon.   `[limits]`
 */

import type { Socket } from "node:net";
import { networkOf } from "../base/addresses.ts";
import { Tally } from "../base/tally.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";

export interface Admitted {
  readonly socket: Socket;
  /** The peer's network, as `networkOf` returns it. */
  readonly network: string;
  /** In milliseconds of `performance.now()`. */
  readonly since: number;
  /** Called once the socket is closed. */
  readonly onClosed: (() => void) | undefined;
}

/**
 * Caps the accepted sockets of one listener: in total, per address (per /64 for IPv6, which one host may own), and
 * in the time of their handshake. A socket counts from accept to close.
 */
export class ConnectionCaps {
  readonly #limits: () => LimitsConfig;
  readonly #all = new Set<Admitted>();
  readonly #perNetwork = new Tally();
  #sayEmpty: () => void = () => undefined;
  /** Oldest first. */
  readonly #handshakes = new Set<Admitted>();

  constructor(limits: () => LimitsConfig) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#all.size;
  }

  hasRoom(address: string): boolean {
    const { maxConnections, maxConnectionsPerAddress } = this.#limits();
    const ofNetwork = this.#perNetwork.of(networkOf(address));
    return this.count < maxConnections && ofNetwork < maxConnectionsPerAddress;
  }

  /** Admits a socket; the caller has checked `hasRoom`. */
  admit(socket: Socket, address: string, onClosed?: () => void): Admitted {
    const network = networkOf(address);
    const admitted: Admitted = { socket, network, since: performance.now(), onClosed };
    this.#all.add(admitted);
    this.#perNetwork.add(network);
    this.#handshakes.add(admitted);
    socket.on("close", () => this.#release(admitted));
    return admitted;
  }

  /** Marks the handshake as done. */
  established(admitted: Admitted): void {
    this.#handshakes.delete(admitted);
  }

  /** Destroys sockets whose handshakes have taken too long. */
  sweep(now: number): void {
    const { headerTimeoutMs } = this.#limits();
    for (const { socket, since } of this.#handshakes) {
      if (now - since <= headerTimeoutMs) break;
      socket.destroy();
    }
  }

  /** Destroys every socket in its handshake; none of them carries a request yet. */
  endHandshakes(): void {
    for (const { socket } of this.#handshakes) socket.destroy();
  }

  /** Resolves once no socket is left; nothing may be admitted meanwhile. */
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
    this.#all.delete(admitted);
    this.#handshakes.delete(admitted);
    this.#perNetwork.remove(admitted.network);
    admitted.onClosed?.();
    if (this.count === 0) this.#sayEmpty();
  }
}

/** Overhead allowed between two sweeps: some hundred key updates, where one a day is needed. */
const FREE_BYTES = 32 * 1024;
/** Allows a TLS record per octet of a request, wasteful as that is. */
const BYTES_PER_OCTET = 24;
const MOST_BYTES = 128 * 1024;
/** Allowed for every request without bound, since each may arrive in its own record with 22 octets of framing. */
const BYTES_PER_REQUEST = 32;

type Counted = Pick<Socket, "bytesRead">;

/**
 * Counts the octets that a peer sends outside requests: framing of TLS records, and TLS messages. A key update costs
 * forty microseconds and 27 octets, and TLS lets a peer send them endlessly; nothing else reveals them. One per
 * connection. RFC 8446 §4.6.3
 */
export class TlsOverhead {
  readonly #raw: Counted;
  readonly #secured: Counted;
  #rawBytes: number;
  #securedBytes: number;

  /** Takes the accepted socket, and the TLS socket on top of it. */
  constructor(raw: Counted, secured: Counted) {
    this.#raw = raw;
    this.#secured = secured;
    this.#rawBytes = raw.bytesRead;
    this.#securedBytes = secured.bytesRead;
  }

  /** True if there was too much overhead since the last call; `requests` arrived meanwhile. */
  isExcessive(requests: number): boolean {
    const rawBytes = this.#raw.bytesRead;
    const securedBytes = this.#secured.bytesRead;
    const octets = securedBytes - this.#securedBytes;
    const beside = rawBytes - this.#rawBytes - octets;
    this.#rawBytes = rawBytes;
    this.#securedBytes = securedBytes;
    const allowed = Math.min(MOST_BYTES, FREE_BYTES + BYTES_PER_OCTET * octets);
    return beside > allowed + BYTES_PER_REQUEST * requests;
  }
}

/** A queued body, compared by identity. */
type Body = Uint8Array;

const NO_BODIES: ReadonlyMap<Body, number> = new Map();

/** The octets queued for one peer. */
export class SendAccount {
  readonly #budget: SendBudget;
  readonly #drop: () => void;
  /** Allocated on first use, since most connections never need it. */
  #bodies: Map<Body, number> | undefined;
  /** Queued octets outside the bodies. */
  bytes = 0;
  /** When the peer last read something, while octets are queued for it. */
  takenAt: number | undefined;

  constructor(budget: SendBudget, drop: () => void) {
    this.#budget = budget;
    this.#drop = drop;
  }

  /** The number of times that each body is queued. */
  get bodies(): ReadonlyMap<Body, number> {
    return this.#bodies ?? NO_BODIES;
  }

  /** Sets how many times a body is queued; 0 removes it. */
  keep(body: Body, times: number): void {
    this.#bodies ??= new Map();
    if (times > 0) this.#bodies.set(body, times);
    else this.#bodies.delete(body);
  }

  get isEmpty(): boolean {
    return this.bytes === 0 && this.bodies.size === 0 && this.takenAt === undefined;
  }

  hold(body: Body): void {
    this.#budget.hold(this, body);
  }

  release(body: Body): void {
    this.#budget.release(this, body);
  }

  /** Notes that the peer has stopped reading, with `bytes` queued outside the bodies. */
  wait(bytes: number): void {
    this.takenAt ??= performance.now();
    this.#budget.weigh(this, bytes);
  }

  /** Notes that the peer has read what was written. */
  take(): void {
    this.takenAt = performance.now();
  }

  /** Notes that nothing is queued outside the bodies. */
  rest(): void {
    this.takenAt = undefined;
    this.#budget.weigh(this, 0);
  }

  /** Releases everything that is queued. */
  close(): void {
    for (const [body, times] of this.bodies) {
      for (let time = 0; time < times; time += 1) this.release(body);
    }
    this.rest();
  }

  drop(): void {
    this.close();
    this.#drop();
  }
}

interface Held {
  holders: number;
}

/** During a drain, a peer that reads nothing for this long is dropped. */
const HURRIED_MS = 2_000;

type SendLimits = Pick<LimitsConfig, "sendBufferTotalBytes" | "idleTimeoutMs">;

/**
 * Bounds the octets queued for all peers of a daemon, over every protocol. A body queued for many counts once.
 * Beyond `send_buffer_total_bytes` the slowest readers are dropped; a peer that reads nothing for `idle_timeout_ms`
 * is always dropped.
 */
export class SendBudget {
  #limits: SendLimits;
  /** The accounts with something queued. */
  readonly #accounts = new Set<SendAccount>();
  readonly #bodies = new Map<Body, Held>();
  #bytes = 0;
  #isHurried = false;

  constructor(limits: SendLimits) {
    this.#limits = limits;
  }

  /** Applies new limits from now on. */
  limit(limits: SendLimits): void {
    this.#limits = limits;
  }

  /** The octets queued in total. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Opens an account for a peer; `drop` closes its connection. */
  open(drop: () => void): SendAccount {
    return new SendAccount(this, drop);
  }

  weigh(account: SendAccount, bytes: number): void {
    this.#bytes += bytes - account.bytes;
    const isMore = bytes > account.bytes;
    account.bytes = bytes;
    this.#keep(account);
    if (isMore) this.#enforce();
  }

  hold(account: SendAccount, body: Body): void {
    const held = this.#bodies.get(body);
    if (held === undefined) {
      this.#bodies.set(body, { holders: 1 });
      this.#bytes += body.byteLength;
    } else held.holders += 1;
    account.keep(body, (account.bodies.get(body) ?? 0) + 1);
    this.#keep(account);
    this.#enforce();
  }

  release(account: SendAccount, body: Body): void {
    const times = account.bodies.get(body);
    const held = this.#bodies.get(body);
    if (times === undefined || held === undefined) return;
    account.keep(body, times - 1);
    held.holders -= 1;
    if (held.holders === 0) {
      this.#bodies.delete(body);
      this.#bytes -= body.byteLength;
    }
    this.#keep(account);
  }

  #keep(account: SendAccount): void {
    if (account.isEmpty) this.#accounts.delete(account);
    else this.#accounts.add(account);
  }

  /** Drops stalled peers sooner, as the process is about to end; the returned function stops the checks. */
  hurry(): () => void {
    this.#isHurried = true;
    const timer = setInterval(() => this.sweep(performance.now()), HURRIED_MS / 8);
    return () => clearInterval(timer);
  }

  /** Drops the peers that have read nothing for too long. */
  sweep(now: number): void {
    const { idleTimeoutMs: usual } = this.#limits;
    const idleTimeoutMs = this.#isHurried ? Math.min(usual, HURRIED_MS) : usual;
    for (const account of this.#accounts) {
      if (account.takenAt !== undefined && now - account.takenAt > idleTimeoutMs) account.drop();
    }
  }

  #enforce(): void {
    const { sendBufferTotalBytes: most } = this.#limits;
    if (this.#bytes <= most) return;
    // Peers that are not stalled are dropped last.
    const slowness = ({ takenAt }: SendAccount): number => takenAt ?? Number.POSITIVE_INFINITY;
    const slowestFirst = [...this.#accounts].sort((a, b) => slowness(a) - slowness(b));
    const spared = this.#largest(slowestFirst, most);
    const room = most + (spared?.byteLength ?? 0);
    for (const account of slowestFirst) {
      if (this.#bytes <= room) return;
      if (spared === undefined || !account.bodies.has(spared)) account.drop();
    }
  }

  /**
   * Returns a body that alone exceeds the limit: its readers are spared, and no other peer is dropped because of it.
   * Of several such bodies, the most recently read one is returned.
   */
  #largest(slowestFirst: readonly SendAccount[], most: number): Body | undefined {
    for (const { bodies } of slowestFirst.toReversed()) {
      for (const body of bodies.keys()) if (body.byteLength > most) return body;
    }
    return undefined;
  }
}
