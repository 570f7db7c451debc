/**
 * The port of a daemon with workers, at one of them: it accepts on the socket that all have. It serves
 * what it accepts unless another has clearly fewer connections, or its own share of the limits is full.
 * The shares of all workers are the limits of the whole.   `[limits] max_connections`
 */

import net from "node:net";
import { networkOf } from "../base/addresses.ts";
import { quietened } from "../base/back-off.ts";
import { Tally } from "../base/tally.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";
import {
  type Accepted,
  discard,
  peerOf,
  type RawConnection,
  socketOf,
  takeHandles,
} from "./node-sockets.ts";
import type { Passing, PortHandle } from "./shared-port.ts";
import { ToldCount } from "./told-count.ts";

export type ConnectionLimits = Pick<LimitsConfig, "maxConnections" | "maxConnectionsPerAddress">;

export interface WorkerNumber {
  /** From 1 on. */
  readonly number: number;
  readonly of: number;
}

export interface WorkerPortOptions {
  readonly seat: WorkerNumber;
  /** The limits of the whole daemon, as they are now. */
  limits(): ConnectionLimits;
  take(accepted: Accepted): void;
  /** Gives a connection to the parent. */
  pass(socket: net.Socket, passing: Passing): void;
  /** Tells the parent how many connections there are. */
  tell(count: number): void;
  onFault(error: unknown): void;
}

const BACKLOG = 1024;
/** Nobody was asked yet. */
const UNTRIED: Passing = { tried: [], isWhole: true };
/** For so long none is passed on once nobody had room: a flood costs no more than its accepting. */
const FULL_MS = 100;
/**
 * A worker may have half as many more than another, and so many more at most, before it passes some on; and
 * as many more as have ended lately: without that, 8 % of short connections went through three processes, now 3 %.
 */
const MAX_LEAD = 8;

export class WorkerPort {
  readonly #options: WorkerPortOptions;
  readonly #acceptor: net.Server;
  readonly #accept = (lower: RawConnection): void => this.accept(lower);
  readonly #told: ToldCount;
  readonly #perNetwork = new Tally();
  /** The networks whose connections nobody has room for; undefined: no network's. */
  readonly #full = new Set<string | undefined>();
  #count = 0;
  /** The connections of the other worker that has the fewest. */
  #least: number | undefined;
  /** Connections that have ended since its own were told of: where they end as quickly, what was heard says little. */
  #ended = 0;
  #isClosed = false;

  constructor(options: WorkerPortOptions) {
    this.#options = options;
    this.#told = new ToldCount(() => {
      this.#ended = 0;
      if (!this.#isClosed) options.tell(this.#count);
    });
    // What is passed on must not have been read from.
    this.#acceptor = net.createServer({ noDelay: true, pauseOnConnect: true }, this.#accept);
    this.#acceptor.on("error", quietened(options.onFault));
  }

  /** Accepts on the socket of all workers from now on. */
  listen(handle: PortHandle): void {
    if (this.#isClosed) {
      handle.close();
      return;
    }
    this.#acceptor.listen(handle, BACKLOG);
    takeHandles(this.#acceptor, this.#accept);
  }

  /** Another worker has so few connections; undefined: there is no other. */
  hear(least: number | undefined): void {
    this.#least = least;
  }

  /** Nobody has room for connections of a network; undefined: for any. */
  hearFull(network: string | undefined): void {
    if (this.#isClosed || this.#full.has(network)) return;
    const timer = setTimeout(() => this.#full.delete(network), FULL_MS);
    timer.unref();
    this.#full.add(network);
  }

  accept(lower: RawConnection): void {
    const least = this.#least ?? Number.POSITIVE_INFINITY;
    const lead = Math.min(MAX_LEAD, Math.floor(least / 2)) + this.#ended;
    if (this.#count <= least + lead) {
      this.hand(lower, UNTRIED);
      return;
    }
    // Many may come at once, before the other one is heard of again.
    this.#least = least + 1;
    this.#options.pass(socketOf(lower), UNTRIED);
  }

  /** A connection that others have no room for. */
  hand(lower: RawConnection, before: Passing): void {
    const { seat, limits, take, pass } = this.#options;
    const { maxConnections, maxConnectionsPerAddress } = limits();
    const peer = peerOf(lower);
    if (peer === undefined || this.#isClosed) {
      discard(lower);
      return;
    }
    const network = networkOf(peer.address);
    const isWhole = this.#count >= shareOf(maxConnections, seat);
    if (isWhole || this.#perNetwork.of(network) >= shareOf(maxConnectionsPerAddress, seat)) {
      if (this.#full.has(isWhole ? undefined : network)) discard(lower);
      else {
        const tried = [...before.tried, seat.number];
        pass(socketOf(lower), { tried, isWhole: isWhole && before.isWhole });
      }
      return;
    }
    this.#count += 1;
    this.#perNetwork.add(network);
    this.#told.changed(this.#count);
    take({ lower, peer, onClosed: () => this.#release(network) });
  }

  /** Accepts nothing more. */
  close(): void {
    this.#isClosed = true;
    this.#told.close();
    this.#acceptor.close();
  }

  #release(network: string): void {
    this.#count -= 1;
    this.#ended += 1;
    this.#perNetwork.remove(network);
    this.#told.changed(this.#count);
  }
}

/** The part of a limit that one worker has; those of all are the limit. */
export function shareOf(limit: number, { number, of }: WorkerNumber): number {
  return Math.floor(limit / of) + (number <= limit % of ? 1 : 0);
}
