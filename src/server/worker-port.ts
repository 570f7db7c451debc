/**
 * The port of a daemon with workers, in a worker: it accepts on the shared socket. It serves an accepted connection
 * unless another worker has clearly fewer, or its own share of the limits is used up. The shares of the workers add
 * up to the limits. `[limits] max_connections`
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
  /** Counted from 1. */
  readonly number: number;
  readonly of: number;
}

export interface WorkerPortOptions {
  readonly seat: WorkerNumber;
  /** Returns the current limits of the whole daemon. */
  limits(): ConnectionLimits;
  take(accepted: Accepted): void;
  /** Passes a connection to the parent. */
  pass(socket: net.Socket, passing: Passing): void;
  /** Reports the connection count to the parent. */
  tell(count: number): void;
  onFault(error: unknown): void;
}

const BACKLOG = 1024;
/** No worker has been tried yet. */
const UNTRIED: Passing = { tried: [], isWhole: true };
/**
 * After a report that no worker has room, connections are closed instead of passed on for this long, so that a flood
 * costs only its accepting.
 */
const FULL_MS = 100;
/**
 * A worker may exceed another's count by half of it, and by this at most, before it passes connections on; recently
 * ended ones are allowed on top: without those, 8 % of short connections went through three processes, now 3 %.
 */
const MAX_LEAD = 8;

export class WorkerPort {
  readonly #options: WorkerPortOptions;
  readonly #acceptor: net.Server;
  readonly #accept = (lower: RawConnection): void => this.accept(lower);
  readonly #told: ToldCount;
  readonly #perNetwork = new Tally();
  /** Networks for which no worker has room; the entry undefined stands for every network. */
  readonly #full = new Set<string | undefined>();
  #count = 0;
  /** The lowest connection count of the other workers. */
  #least: number | undefined;
  /** Connections ended since the count was last reported: at such a rate the others' reported counts mean little. */
  #ended = 0;
  #isClosed = false;

  constructor(options: WorkerPortOptions) {
    this.#options = options;
    this.#told = new ToldCount(() => {
      this.#ended = 0;
      if (!this.#isClosed) options.tell(this.#count);
    });
    // A connection that is passed on must not have been read from.
    this.#acceptor = net.createServer({ noDelay: true, pauseOnConnect: true }, this.#accept);
    this.#acceptor.on("error", quietened(options.onFault));
  }

  /** Accepts on the shared socket from now on. */
  listen(handle: PortHandle): void {
    if (this.#isClosed) {
      handle.close();
      return;
    }
    this.#acceptor.listen(handle, BACKLOG);
    takeHandles(this.#acceptor, this.#accept);
  }

  /** Notes the lowest count of the other workers; undefined if there is no other. */
  hear(least: number | undefined): void {
    this.#least = least;
  }

  /** Notes that no worker has room for connections of a network; undefined: for any. */
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
    // Counted here already, since many may arrive before the next report.
    this.#least = least + 1;
    this.#options.pass(socketOf(lower), UNTRIED);
  }

  /** Serves a connection that others cannot take, or passes it on. */
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

  /** Stops accepting. */
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

/** Returns one worker's share of a limit; the shares of the workers add up to it. */
export function shareOf(limit: number, { number, of }: WorkerNumber): number {
  return Math.floor(limit / of) + (number <= limit % of ? 1 : 0);
}
