/**
 * The runs of this server in memory, in the order in which they began, and which of them make room
 * for others: what is over goes before what waits for an answer, the oldest first; what is under way
 * never.
 */
import { mayHold } from "../../../base/places.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import { type AgentRun, isOver, isSettled } from "./run.ts";

/** A run that is under way, or about to be. */
export type RunPlace = Pick<AgentRun, "owner" | "base" | "stranger">;

/** How many runs there may be. */
export interface RunLimits {
  /** Under way, of one caller and of one agent. */
  readonly activePerOwner: number;
  readonly activePerBase: number;
  /** Known, of one caller and in all. */
  readonly perOwner: number;
  readonly all: number;
  /** Of results and events in all. */
  readonly bytes: number;
  /** How long what is over is known, and what waits for an answer. */
  readonly overMs: number;
  readonly interruptedMs: number;
}

/** Every run by its id. */
export class RunIndex {
  readonly #runs = new Map<string, AgentRun>();
  readonly #limits: RunLimits;
  #bytes = 0;

  constructor(limits: RunLimits) {
    this.#limits = limits;
  }

  get(runId: string): AgentRun | undefined {
    return this.#runs.get(runId);
  }

  set(run: AgentRun): void {
    this.#bytes += sizeOf(run) - sizeOf(this.#runs.get(run.runId));
    this.#runs.set(run.runId, run);
  }

  delete(runId: string): void {
    this.#bytes -= sizeOf(this.#runs.get(runId));
    this.#runs.delete(runId);
  }

  /** The oldest first. */
  all(): readonly AgentRun[] {
    return [...this.#runs.values()];
  }

  /** Whether another run may begin; `reserved` are about to. */
  admits(wanted: RunPlace, reserved: readonly RunPlace[]): boolean {
    const { activePerOwner, activePerBase } = this.#limits;
    const active = [...this.all().filter((run) => !isSettled(run)), ...reserved];
    const owner = placeOwner(wanted);
    const holdings = active.map((one) => ({ owner: placeOwner(one), base: one.base }));
    const own = holdings.filter((one) => one.owner.key === owner.key).length;
    const there = holdings.filter(({ base }) => base === wanted.base);
    return own < activePerOwner && mayHold(owner, activePerBase, there);
  }

  /** Runs that have to go so that there is room for one more; undefined: there is none. */
  surplus(owner: string, now: number): readonly AgentRun[] | undefined {
    const { perOwner, all, bytes, overMs, interruptedMs } = this.#limits;
    const runs = this.all();
    const gone = new Set(
      runs.filter((run) => {
        if (!isSettled(run)) return false;
        return run.updatedAt + (isOver(run) ? overMs : interruptedMs) <= now;
      }),
    );
    const candidates = [...runs.filter(isOver), ...runs.filter(isWaiting)];
    const left = (): readonly AgentRun[] => runs.filter((run) => !gone.has(run));
    const shed = (from: readonly AgentRun[], isEnough: () => boolean): boolean => {
      for (const run of from) {
        if (isEnough()) return true;
        gone.add(run);
      }
      return isEnough();
    };
    const own = candidates.filter((run) => run.owner === owner);
    const isOwnEnough = () => left().filter((run) => run.owner === owner).length < perOwner;
    if (!shed(own, isOwnEnough)) return undefined;
    const isAllEnough = () => left().length < all;
    if (!shed(candidates, isAllEnough)) return undefined;
    const weight = () => this.#bytes - [...gone].reduce((sum, run) => sum + sizeOf(run), 0);
    return shed(candidates, () => weight() <= bytes) ? [...gone] : undefined;
  }
}

/** Whoever is not known can be somebody else each time, but not from elsewhere. */
function placeOwner({ owner, stranger }: RunPlace): TaskOwner {
  return { key: stranger ?? owner, isKnown: stranger === undefined };
}

function isWaiting({ status }: AgentRun): boolean {
  return status === "interrupted";
}

function sizeOf(run: AgentRun | undefined): number {
  return run === undefined ? 0 : run.resultBytes + run.eventBytes;
}
