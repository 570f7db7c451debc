/**
 * Runs long work on the event loop: a task yields after its slice, everything else gets a turn, and
 * the owner with the least time continues.
 */
import { setImmediate as nextRound } from "node:timers/promises";
import type { Paced } from "./paced.ts";

/** The owner on whose account work is done. */
export interface TaskOwner {
  readonly key: string;
  /** True for a known owner; unknown owners together get half of the time. */
  readonly isKnown: boolean;
}

/** Measures the work done for an owner. */
export interface TaskMeter {
  /** Runs synchronous work, and charges its payer. */
  slice<T>(payer: () => TaskOwner, work: () => T, startedAt: number): T;
}

interface TaskQueueOptions {
  /** The length of a turn; a started step is finished. */
  readonly sliceMs: number;
  /** Charges the owners for their time. */
  readonly meter?: TaskMeter;
  readonly now?: () => number;
}

/** The multiple of a slice that requests get under full load, which leaves them four fifths of the time. */
const SLICES_FOR_OTHERS = 4;
/** The length below which a round was idle. */
const IDLE_ROUND_MS = 0.05;
/** The maximum number of waiting tasks of an owner, since each holds memory. */
const MAX_WAITING = 32;
/**
 * The owner of the server's own tasks, which rotate after each slice: they serve different people,
 * and a large index must not delay a short list that somebody waits for.
 */
export const THE_SERVER: TaskOwner = { key: "", isKnown: true };

interface Task {
  /** Runs one piece; true if that was the last. */
  advance(): boolean | Promise<boolean>;
}

/** The tasks of one owner, in order. */
interface Lane {
  readonly owner: TaskOwner;
  readonly tasks: Task[];
  /** The time used, on the clock of its class. */
  spent: number;
}

/** Owners that share evenly. */
interface OwnerClass {
  readonly lanes: Map<string, Lane>;
  spent: number;
  /** The earlier time of the last served lane, at which a new lane starts, so that it has no arrears. */
  clock: number;
}

/** Runs tasks of all owners. */
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

  /** Runs work as a whole in its turn. */
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

  /** Runs work step by step; rejects when the signal aborts. */
  pace<T>(steps: Paced<T>, owner: TaskOwner, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const advance = (): boolean => {
        try {
          signal.throwIfAborted();
          const step = steps.next();
          if (step.done !== true) return false;
          resolve(step.value);
        } catch (error) {
          // Lets the work release its resources.
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
      // An idle class does not save up time.
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

  /** Lets everything else have rounds until they are idle or have had their share. */
  async #giveWay(): Promise<void> {
    const from = this.#now();
    const until = from + SLICES_FOR_OTHERS * this.#sliceMs;
    for (let at = from, before = at; ; before = at) {
      await nextRound();
      at = this.#now();
      if (at >= until || at - before < IDLE_ROUND_MS) return;
    }
  }

  /** Runs a slice of a lane's first task. */
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

  /** Alternates between known and unknown owners by time used, then takes the least served owner. */
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

/** Returns the least served lane, and the first of equals, which has waited longest. */
function leastServed({ lanes }: OwnerClass): Lane | undefined {
  let least: Lane | undefined;
  for (const lane of lanes.values()) {
    if (least === undefined || lane.spent < least.spent) least = lane;
  }
  return least;
}
