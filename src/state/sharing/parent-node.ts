/**
 * A worker as a node among those of its parent: the feed for its views, and the lease under which it may serve from
 * them. The lease counts from before its request, by the monotonic clock, and begins once every earlier commit is
 * applied. A worker that was stopped for longer serves nothing before it has caught up.
 */

import { Pulse } from "../../base/back-off.ts";
import type { Link } from "../../base/link.ts";
import { LateLooks } from "../late-looks.ts";
import { LiveProcesses } from "../live-processes.ts";
import type { ViewLease } from "../state.ts";
import type { Feed } from "../store.ts";
import { StoreUnavailableError } from "../store-fault.ts";
import type { ParentStore } from "./parent-store.ts";
import type { AskedFeed, Joined, SharedFeed } from "./shared-state.ts";

interface ParentNodeOptions {
  readonly link: Link;
  readonly store: ParentStore;
  readonly joined: Pick<Joined, "leaseMs" | "upTo" | "process" | "node">;
}

export class ParentNode implements ViewLease {
  readonly #link: Link;
  readonly #store: ParentStore;
  readonly #leaseMs: number;
  readonly node: string;
  /** The processes whose work may be taken over. */
  readonly holders: LiveProcesses;
  #leaseUntil = Number.NEGATIVE_INFINITY;
  /** The views include every commit up to this revision. */
  #seen: number;
  readonly #looks = new LateLooks(() => this.#pulse.wake());
  #isClosed = false;
  readonly #pulse: Pulse;

  constructor({ link, store, joined }: ParentNodeOptions) {
    this.#link = link;
    this.#store = store;
    this.#leaseMs = joined.leaseMs;
    this.#seen = joined.upTo;
    this.holders = new LiveProcesses(joined.process);
    this.node = joined.node;
    this.#pulse = new Pulse(joined.leaseMs / RENEWALS, () => this.#look());
    link.serve({ wake: () => this.#pulse.wake() });
  }

  get isFresh(): boolean {
    return performance.now() < this.#leaseUntil;
  }

  /**
   * Checks the lease.
   * @throws StoreUnavailableError without a lease
   */
  checkLease(): void {
    if (this.isFresh) return;
    const cause = new Error(
      "this worker has heard nothing of its parent for longer than its lease",
    );
    throw new StoreUnavailableError("unreachable", cause);
  }

  /**
   * Applies everything committed so far.
   * @throws StoreUnavailableError if that cannot be known
   */
  catchUp(): Promise<void> {
    return this.#looks.catchUp();
  }

  /** Starts applying changes and renewing the lease; resolves once there is a lease. */
  async start(): Promise<void> {
    await this.#tick();
    this.#pulse.start();
  }

  /** Gives up the lease. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#leaseUntil = Number.NEGATIVE_INFINITY;
    await this.#pulse.stop();
  }

  async #look(): Promise<void> {
    try {
      await this.#tick();
    } catch (error) {
      // The lease expires by itself; the parent reports its store's faults.
      this.#looks.fail(error);
    }
  }

  async #tick(): Promise<void> {
    const askedAt = performance.now();
    const look = this.holders.look();
    const isTaken = this.#looks.begin();
    const after = this.#seen;
    const feed = await this.#store.watchers.take(
      (only) => this.#link.ask<SharedFeed>("feed", { after, only } satisfies AskedFeed),
      (told, collection) => ({ ...ofCollection(told, collection), after }),
    );
    isTaken();
    look(new Set(feed.live));
    if (feed.upTo > this.#seen) {
      this.#seen = feed.upTo;
      this.#link.tell("taken", this.#seen);
    }
    if (!this.#isClosed) this.#leaseUntil = askedAt + this.#leaseMs;
  }
}

/** The renewals within one lease. */
const RENEWALS = 5;

function ofCollection({ upTo, changed }: SharedFeed, collection: string): Feed {
  const own = changed.find(([name]) => name === collection);
  return { upTo, changed: own === undefined ? [] : (own[1] ?? undefined) };
}
