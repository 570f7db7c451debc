/**
 * Everything that a process has once, whatever is reloaded: its state, its accounts of what everybody
 * takes, its one queue of what takes long, and what each module keeps.
 */
import type { ForwardClock } from "../base/forward-clock.ts";
import { type Drive, SLICE_MS } from "../base/paced.ts";
import { TaskQueue, THE_SERVER } from "../base/task-queue.ts";
import { Collection } from "../state/collection.ts";
import type { CollectionOptions } from "../state/collection-options.ts";
import type { ServerState } from "../state/state.ts";
import type { Store } from "../state/store.ts";
import { Attempts } from "./contracts/attempts.ts";
import { RunningCalls } from "./handling/deadlines.ts";
import { LoopTime } from "./rates/loop-time.ts";
import { MinuteRates } from "./rates/minute-rates.ts";
import { Rates } from "./rates/rates.ts";
import { createToll, type Toll } from "./rates/toll.ts";

/** The parts of a process that a module may keep something over. */
export interface KeptParts extends Pick<ServerState, "escalations" | "holders"> {
  readonly minuteRates: MinuteRates;
}

/** Opens what a module keeps over the store. */
export type OpenKept<T> = (
  store: Store,
  clock: Pick<ForwardClock, "now">,
  shared: KeptParts,
) => T | Promise<T>;

export interface ProcessState {
  readonly state: ServerState;
  /** Negotiations that came to nothing. */
  readonly attempts: Attempts;
  /** Everybody's use of the server. */
  readonly rates: Rates;
  /** The rates by the minute, for what is dearer. */
  readonly minuteRates: MinuteRates;
  readonly calls: RunningCalls;
  readonly time: LoopTime;
  readonly toll: Toll;
  /** The queue of work that takes longer than others want to wait. */
  readonly work: TaskQueue;
  /** Aborted when the daemon begins to stop: everybody who only waits has an answer then. */
  readonly stopping: AbortController;
  /** Aborted when a daemon that stops has answered everybody: nobody waits for what is being made. */
  readonly drained: AbortController;
  /**
   * The thing that `open` makes, made when it is first asked for and kept through every reload. The function
   * itself is what it is known by.
   */
  once<T>(open: OpenKept<T>): Promise<T>;
  /** A collection of the store, opened once by its name and kept through every reload. */
  collection<Item>(options: CollectionOptions<Item>): Promise<Collection<Item>>;
}

/** Begins a process over its state. */
export function createProcessState(state: ServerState): ProcessState {
  const { store, clock } = state;
  const { escalations, holders } = state;
  const rates = new Rates();
  const minuteRates = new MinuteRates();
  const time = new LoopTime(rates);
  const kept = new Map<unknown, Promise<unknown>>();
  const openOnce = <T>(key: unknown, open: () => T | Promise<T>): Promise<T> => {
    // Of one key there is one type: it is a function that makes it, or the name of a collection.
    const known = kept.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const opening = Promise.resolve(open());
    kept.set(key, opening);
    opening.catch(() => kept.delete(key));
    return opening;
  };
  return {
    ...{ state, rates, minuteRates, time, toll: createToll(rates, time), attempts: new Attempts() },
    calls: new RunningCalls(),
    work: new TaskQueue({ sliceMs: SLICE_MS, meter: time }),
    stopping: new AbortController(),
    drained: new AbortController(),
    once: (open) => openOnce(open, () => open(store, clock, { escalations, holders, minuteRates })),
    collection: (options) => openOnce(options.name, () => Collection.open(store, options)),
  };
}

/** Work that somebody waits for is finished even while the server stops. */
const NEVER = new AbortController().signal;

/**
 * The pace of the server's own work while it serves: in the queue of all that takes long, in turns with
 * everybody else's.
 */
export function whileServing({ work }: Pick<ProcessState, "work">): Drive {
  return (steps) => work.pace(steps, THE_SERVER, NEVER);
}

/** The pace of what is made once for all who ask: it ends with the last answer of a server that stops. */
export function untilDrained({ work, drained }: Pick<ProcessState, "work" | "drained">): Drive {
  return (steps) => work.pace(steps, THE_SERVER, drained.signal);
}
