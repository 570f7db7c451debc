/**
 * The state that a process has once and keeps through every reload: the store, the rates, the task
 * queue, and what modules open.
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

/** The parts of a process that a module's long-lived state may use. */
export interface KeptParts extends Pick<ServerState, "escalations" | "holders"> {
  readonly minuteRates: MinuteRates;
}

/** Opens a module's long-lived state over the store. */
export type OpenKept<T> = (
  store: Store,
  clock: Pick<ForwardClock, "now">,
  shared: KeptParts,
) => T | Promise<T>;

export interface ProcessState {
  readonly state: ServerState;
  /** The failed negotiations. */
  readonly attempts: Attempts;
  /** The rates of all payers. */
  readonly rates: Rates;
  /** Rates per minute, for dearer calls. */
  readonly minuteRates: MinuteRates;
  readonly calls: RunningCalls;
  readonly time: LoopTime;
  readonly toll: Toll;
  /** The queue of long work. */
  readonly work: TaskQueue;
  /** Aborted when the daemon starts to stop, so that everybody who only waits is answered. */
  readonly stopping: AbortController;
  /** Aborted once a stopping daemon has answered everybody, so that shared work in progress ends. */
  readonly drained: AbortController;
  /**
   * Returns the result of `open`, which runs once and is kept through every reload; the function
   * itself is the key.
   */
  once<T>(open: OpenKept<T>): Promise<T>;
  /** Returns a collection of the store, opened once per name and kept through every reload. */
  collection<Item>(options: CollectionOptions<Item>): Promise<Collection<Item>>;
}

/** Creates the state of a process over its store. */
export function createProcessState(state: ServerState): ProcessState {
  const { store, clock } = state;
  const { escalations, holders } = state;
  const rates = new Rates();
  const minuteRates = new MinuteRates();
  const time = new LoopTime(rates);
  const kept = new Map<unknown, Promise<unknown>>();
  const openOnce = <T>(key: unknown, open: () => T | Promise<T>): Promise<T> => {
    // Each key has one type, since it is the function that makes the value or the collection's
    // name.
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

/** Runs the server's own work while it serves, in the queue of long work, in turns with everybody else's. */
export function whileServing({ work }: Pick<ProcessState, "work">): Drive {
  return (steps) => work.pace(steps, THE_SERVER, NEVER);
}

/** Runs work shared by several callers; it ends with the last answer of a stopping server. */
export function untilDrained({ work, drained }: Pick<ProcessState, "work" | "drained">): Drive {
  return (steps) => work.pace(steps, THE_SERVER, drained.signal);
}
