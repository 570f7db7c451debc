/**
 * Long work that shares the event loop: a task gives way once it has had its slice, everything else
 * has its time, and the owner that has had least goes on.
 */
import { setImmediate as nextRound } from "node:timers/promises";
import type { Paced } from "./paced.ts";

/** For whom work is done. */
export interface TaskOwner {
  readonly key: string;
  /** All who are not known have half of the time between them. */
  readonly isKnown: boolean;
}

/** Measures what is done for an owner at a time. */
export interface TaskMeter {
  /** Does some work at once, and charges who pays for it. */
  slice<T>(payer: () => TaskOwner, work: () => T, startedAt: number): T;
}

interface TaskQueueOptions {
  /** The length of one turn; a step that has begun is finished. */
  readonly sliceMs: number;
  /** Charges the owners for the time they are given. */
  readonly meter?: TaskMeter;
  readonly now?: () => number;
}

/** Requests keep four fifths of the time at full load: rounds, while they are not idle. */
const SLICES_FOR_OTHERS = 4;
/** A round in which nothing happened is shorter. */
const IDLE_ROUND_MS = 0.05;
/** More of one owner at a time would fill the memory with what waits. */
const MAX_WAITING = 32;
/**
 * The owner of the server's own tasks, which take turns after each slice: they are for different
 * people, and an index of much must not hold up the short list that somebody waits for.
 */
export const THE_SERVER: TaskOwner = { key: "", isKnown: true };

interface Task {
  /** Does one piece; true: that was the last. */
  advance(): boolean | Promise<boolean>;
}

/** The tasks of one owner, in their order. */
interface Lane {
  readonly owner: TaskOwner;
  readonly tasks: Task[];
  /** The time it has had, on the clock of its class. */
  spent: number;
}

/** Owners who share evenly. */
interface OwnerClass {
  readonly lanes: Map<string, Lane>;
  spent: number;
  /** The earlier time of the lane served last: a newcomer is owed no more than that. */
  clock: number;
}

/** Does tasks, of any owner. */
export class TaskQueue {
  readonly #sliceMs: number;
  readonly #meter: TaskMeter | undefined;
  readonly #now: () => number;
  readonly #known = createClass();
  readonly #strangers = createClass();
  #isWorking = false;

  constructor({ sliceMs, meter, now = () => performance.now() }: TaskQueueOptions) {
    this.#sliceMs = sliceMs;
    this.#meter = meter;
    this.#now = now;
  }

  hasRoom({ key, isKnown }: TaskOwner): boolean {
    const waiting = this.#classOf(isKnown).lanes.get(key)?.tasks.length ?? 0;
    return waiting < MAX_WAITING;
  }

  /** Does the work whole, once it is its turn. */
  run<T>(work: () => T | Promise<T>, owner: TaskOwner): Promise<T> {
    return new Promise((resolve, reject) => {
      const advance = (): true | Promise<true> => {
        try {
          const result = work();
          if (result instanceof Promise) return result.then(resolve, reject).then(() => true);
          resolve(result);
        } catch (error) {
          reject(error);
        }
        return true;
      };
      this.#add({ advance }, owner);
    });
  }

  /** Does the work step by step; rejects when the signal says that nobody waits. */
  pace<T>(steps: Paced<T>, owner: TaskOwner, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const advance = (): boolean => {
        try {
          signal.throwIfAborted();
          const step = steps.next();
          if (step.done !== true) return false;
          resolve(step.value);
        } catch (error) {
          // The work closes what it has open.
          steps.return(undefined as T);
          reject(error);
        }
        return true;
      };
      this.#add({ advance }, owner);
    });
  }

  #add(task: Task, owner: TaskOwner): void {
    const { lanes, clock } = this.#classOf(owner.isKnown);
    const lane = lanes.get(owner.key);
    if (lane !== undefined) lane.tasks.push(task);
    else {
      // A class that had nothing to do has saved nothing up.
      if (lanes.size === 0) this.#catchUp(owner.isKnown);
      lanes.set(owner.key, { owner, tasks: [task], spent: clock });
    }
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#work();
  }

  #classOf(isKnown: boolean): OwnerClass {
    return isKnown ? this.#known : this.#strangers;
  }

  #catchUp(isKnown: boolean): void {
    const joining = this.#classOf(isKnown);
    const other = this.#classOf(!isKnown);
    joining.spent = Math.max(joining.spent, other.spent);
  }

  async #work(): Promise<void> {
    await nextRound();
    let roundAt = this.#now();
    for (let lane = this.#next(); lane !== undefined; lane = this.#next()) {
      await this.#serve(lane);
      if (this.#now() - roundAt < this.#sliceMs) continue;
      await this.#giveWay();
      roundAt = this.#now();
    }
    this.#isWorking = false;
  }

  /** Lets everything else have a round, and more of them while they are made use of. */
  async #giveWay(): Promise<void> {
    const from = this.#now();
    const until = from + SLICES_FOR_OTHERS * this.#sliceMs;
    for (let at = from, before = at; ; before = at) {
      await nextRound();
      at = this.#now();
      if (at >= until || at - before < IDLE_ROUND_MS) return;
    }
  }

  /** Gives the first task of a lane its slice. */
  async #serve(lane: Lane): Promise<void> {
    const { owner, tasks } = lane;
    const [task] = tasks;
    const isOver = task === undefined || (await this.#advance(task, lane));
    const isInTurns = owner === THE_SERVER;
    if (isOver || isInTurns) tasks.shift();
    if (!isOver && isInTurns) tasks.push(task);
    if (tasks.length === 0) this.#classOf(owner.isKnown).lanes.delete(owner.key);
  }

  #advance(task: Task, lane: Lane): boolean | Promise<boolean> {
    const startedAt = this.#now();
    const work = (): boolean | Promise<boolean> => {
      let isOver = task.advance();
      while (isOver === false && this.#now() - startedAt < this.#sliceMs) isOver = task.advance();
      return isOver;
    };
    try {
      return this.#meter === undefined
        ? work()
        : this.#meter.slice(() => lane.owner, work, startedAt);
    } finally {
      this.#account(lane, this.#now() - startedAt);
    }
  }

  #account(lane: Lane, spent: number): void {
    const group = this.#classOf(lane.owner.isKnown);
    group.clock = Math.max(group.clock, lane.spent);
    group.spent += spent;
    lane.spent += spent;
  }

  /** Of those who are known and those who are not, in turn; there, who has had least. */
  #next(): Lane | undefined {
    const isKnownFirst = this.#known.spent <= this.#strangers.spent;
    const [first, second] = isKnownFirst
      ? [this.#known, this.#strangers]
      : [this.#strangers, this.#known];
    return leastServed(first) ?? leastServed(second);
  }
}

function createClass(): OwnerClass {
  return { lanes: new Map(), spent: 0, clock: 0 };
}

/** The first of equals, which has waited longest. */
function leastServed({ lanes }: OwnerClass): Lane | undefined {
  let least: Lane | undefined;
  for (const lane of lanes.values()) {
    if (least === undefined || lane.spent < least.spent) least = lane;
  }
  return least;
}
