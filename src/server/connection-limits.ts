/**
 * Bounds of what connections take: how many come in and stay, what a peer may send beside its
 * requests, and how much waits to be sent to all peers of a daemon.   `[limits]`
 */

import type { Socket } from "node:net";
import { networkOf } from "../base/addresses.ts";
import { Tally } from "../base/tally.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";

export interface Admitted {
  readonly socket: Socket;
  /** Of its peer. */
  readonly network: string;
  /** As of `performance.now()`. */
  readonly since: number;
  /** Called once it is closed. */
  readonly onClosed: (() => void) | undefined;
}

/**
 * The accepted sockets of one listener: so many in all, so many from one address (of IPv6 from one /64,
 * all of which one host may have), and none that does not finish its handshake in time. Counts from accept to
 * close.
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

  /** Takes a socket in, for which there is room. */
  admit(socket: Socket, address: string, onClosed?: () => void): Admitted {
    const network = networkOf(address);
    const admitted: Admitted = { socket, network, since: performance.now(), onClosed };
    this.#all.add(admitted);
    this.#perNetwork.add(network);
    this.#handshakes.add(admitted);
    socket.on("close", () => this.#release(admitted));
    return admitted;
  }

  /** Its handshake is done. */
  established(admitted: Admitted): void {
    this.#handshakes.delete(admitted);
  }

  /** Ends handshakes that have taken too long. */
  sweep(now: number): void {
    const { headerTimeoutMs } = this.#limits();
    for (const { socket, since } of this.#handshakes) {
      if (now - since <= headerTimeoutMs) break;
      socket.destroy();
    }
  }

  /** Ends every handshake: nobody has asked for anything in it yet. */
  endHandshakes(): void {
    for (const { socket } of this.#handshakes) socket.destroy();
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
    this.#all.delete(admitted);
    this.#handshakes.delete(admitted);
    this.#perNetwork.remove(admitted.network);
    admitted.onClosed?.();
    if (this.count === 0) this.#sayEmpty();
  }
}

/** Octets allowed beside requests between two looks: some hundred updates; one a day is needed. */
const FREE_BYTES = 32 * 1024;
/** A record around each octet of a request is foolish, and allowed. */
const BYTES_PER_OCTET = 24;
const MOST_BYTES = 128 * 1024;
/** However many there are: each may have come in a record of its own, which takes 22 octets. */
const BYTES_PER_REQUEST = 32;

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
  constructor(raw: Counted, secured: Counted) {
    this.#raw = raw;
    this.#secured = secured;
    this.#rawBytes = raw.bytesRead;
    this.#securedBytes = secured.bytesRead;
  }

  /** Tells whether there was too much of it since the last look, after which so many requests came. */
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

/** A body as it is held; whether two wait for the same one is a question of identity. */
type Body = Uint8Array;

const NO_BODIES: ReadonlyMap<Body, number> = new Map();

/** The octets that one peer has not taken yet. */
export class SendAccount {
  readonly #budget: SendBudget;
  readonly #drop: () => void;
  /** Most connections never have any. */
  #bodies: Map<Body, number> | undefined;
  /** Beside the bodies. */
  bytes = 0;
  /** When the peer last took something, while it leaves something waiting. */
  takenAt: number | undefined;

  constructor(budget: SendBudget, drop: () => void) {
    this.#budget = budget;
    this.#drop = drop;
  }

  /** How many times each is held. */
  get bodies(): ReadonlyMap<Body, number> {
    return this.#bodies ?? NO_BODIES;
  }

  /** Holds a body so many times; 0: not any more. */
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

  /** The peer takes no more for now; so much waits beside bodies. */
  wait(bytes: number): void {
    this.takenAt ??= performance.now();
    this.#budget.weigh(this, bytes);
  }

  /** The peer has taken what was written last. */
  take(): void {
    this.takenAt = performance.now();
  }

  /** Nothing waits but what is held. */
  rest(): void {
    this.takenAt = undefined;
    this.#budget.weigh(this, 0);
  }

  /** Nothing waits any more. */
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

/** A drain waits no longer for a peer that takes nothing of its answer. */
const HURRIED_MS = 2_000;

type SendLimits = Pick<LimitsConfig, "sendBufferTotalBytes" | "idleTimeoutMs">;

/**
 * Bounds what waits to be sent to all peers, whatever they speak; one a daemon. Bodies that many wait
 * for are counted once. Over `send_buffer_total_bytes` the slowest readers are dropped, and so is,
 * at any time, a reader that takes nothing for `idle_timeout_ms`.
 */
export class SendBudget {
  #limits: SendLimits;
  /** The accounts that something waits in. */
  readonly #accounts = new Set<SendAccount>();
  readonly #bodies = new Map<Body, Held>();
  #bytes = 0;
  #isHurried = false;

  constructor(limits: SendLimits) {
    this.#limits = limits;
  }

  /** Holds everybody to these from now on. */
  limit(limits: SendLimits): void {
    this.#limits = limits;
  }

  /** The number of octets that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** An account for a peer; `drop` ends its connection. */
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

  /** The process is about to end: from now on a peer that takes nothing is soon dropped; answers how to stop looking. */
  hurry(): () => void {
    this.#isHurried = true;
    const timer = setInterval(() => this.sweep(performance.now()), HURRIED_MS / 8);
    return () => clearInterval(timer);
  }

  /** Drops the peers that have taken nothing for too long. */
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
    // A peer that has not begun to wait is the last to be dropped.
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
   * A body that is larger than all that may wait: its readers get it, and nobody else is
   * dropped for it. Of several, the one that was read last is spared.
   */
  #largest(slowestFirst: readonly SendAccount[], most: number): Body | undefined {
    for (const { bodies } of slowestFirst.toReversed()) {
      for (const body of bodies.keys()) if (body.byteLength > most) return body;
    }
    return undefined;
  }
}
