/**
 * The places of runs under way, of one caller and with one agent: nobody takes more places of
 * an agent than it leaves free. A run has its place before its server is asked to begin it.
 */
import { mayHold } from "../../../base/places.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import type { AgentRun } from "./run.ts";

/** Bounds of the runs that are under way. */
interface PlaceLimits {
  readonly activePerOwner: number;
  readonly activePerBase: number;
}

/** A run that is about to begin. */
export type WantedRun = Pick<AgentRun, "owner" | "base" | "stranger" | "threadId">;

/** Room for it. */
export interface Reservation {
  release(): void;
}

export class RunPlaces {
  readonly #limits: PlaceLimits;
  readonly #reserved = new Set<WantedRun>();

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Tells whether a run of the thread is about to begin. */
  isThreadTaken(threadId: string): boolean {
    return [...this.#reserved].some((one) => one.threadId === threadId);
  }

  /** Keeps room for one more beside those that run; undefined: there is none. */
  reserve(wanted: WantedRun, running: readonly WantedRun[]): Reservation | undefined {
    const { activePerOwner, activePerBase } = this.#limits;
    const owner = ownerOf(wanted);
    const active = [...running, ...this.#reserved].map((one) => {
      return { owner: ownerOf(one), base: one.base };
    });
    const own = active.filter((one) => one.owner.key === owner.key).length;
    const there = active.filter(({ base }) => base === wanted.base);
    if (own >= activePerOwner || !mayHold(owner, activePerBase, there)) return undefined;
    this.#reserved.add(wanted);
    return { release: () => void this.#reserved.delete(wanted) };
  }
}

/** A caller that is not known can be another each time, but not from elsewhere. */
function ownerOf({ owner, stranger }: WantedRun): TaskOwner {
  return { key: stranger ?? owner, isKnown: stranger === undefined };
}
