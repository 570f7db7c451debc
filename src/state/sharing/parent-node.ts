/**
 * A worker among those of its parent: the feed into its views, and the lease by which it may serve
 * from them. The lease counts from before it was asked for, by the monotonic clock, and begins once
 * everything is taken in that was committed before; one that was stopped for longer serves nothing
 * when it goes on, before it has heard what happened meanwhile.
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
  /** The processes that work may be taken over from. */
  readonly holders: LiveProcesses;
  #leaseUntil = Number.NEGATIVE_INFINITY;
  /** The revision that the views are complete up to. */
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

  /** @throws StoreUnavailableError without a lease */
  checkLease(): void {
    if (this.isFresh) return;
    const cause = new Error(
      "this worker has heard nothing of its parent for longer than its lease",
    );
    throw new StoreUnavailableError("unreachable", cause);
  }

  /**
   * Takes in what was committed so far.
   * @throws StoreUnavailableError where it is not known what that is
   */
  catchUp(): Promise<void> {
    return this.#looks.catchUp();
  }

  /** Begins to take in what others change, and to renew the lease; resolves once there is one. */
  async start(): Promise<void> {
    await this.#tick();
    this.#pulse.start();
  }

  /** Gives the lease up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#leaseUntil = Number.NEGATIVE_INFINITY;
    await this.#pulse.stop();
  }

  async #look(): Promise<void> {
    try {
      await this.#tick();
    } catch (error) {
      // The lease ends by itself; the parent tells of its store.
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

/** The lease is renewed so often in its time. */
const RENEWALS = 5;

function ofCollection({ upTo, changed }: SharedFeed, collection: string): Feed {
  const own = changed.find(([name]) => name === collection);
  return { upTo, changed: own === undefined ? [] : (own[1] ?? undefined) };
}
