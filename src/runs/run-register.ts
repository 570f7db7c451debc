/**
 * Holds the runs of one kind across reloads and restarts: adds, finds, advances, waits for and deletes them. A step
 * is committed with its events before anyone hears of it, and is decided from the run's current state, so exactly
 * one of two conflicting steps is taken.
 */
import type { Ends } from "../base/deadline.ts";
import { Collection } from "../state/collection.ts";
import type { Adding, AddOptions, AlsoChange } from "../state/collection-write.ts";
import {
  type Held,
  HolderLostError,
  type Holders,
  heldAs,
  holding,
  holds,
  mayHold,
  SOLE_HOLDER,
} from "../state/holders.ts";
import type { Change, Store } from "../state/store.ts";
import { findStoreFault } from "../state/store-fault.ts";
import { EventLog } from "./event-log.ts";
import type { EventCounts, NumberedEvent, RunKind, RunPhase } from "./run-kind.ts";
import { RunNews, type RunWatcher } from "./run-news.ts";
import { type RunExecutor, RunSchedule, type ScheduledRun } from "./run-schedule.ts";

/** A run after a step, and the step's events. */
export interface RunStep<Run, Event> {
  readonly run: Run;
  readonly events?: readonly Event[];
}

export interface StepOptions {
  /** Changes in the same commit; a function is called once the step is decided. */
  readonly also?: readonly AlsoChange[] | (() => readonly AlsoChange[]);
  /** True for a step of the execution: throws HolderLostError if another node executes the run. */
  readonly isHolders?: boolean;
  /** Called once the step is committed, before watchers hear of it. */
  onKept?(): void;
}

/** Resumes runs that are not over and that nobody executes. */
type TakeUp<Run> = (runs: readonly Run[]) => void;

/** Opens a plain register, without a subclass. */
export async function openRegister<Run extends object, Event extends NumberedEvent = NumberedEvent>(
  store: Store,
  kind: RunKind<Run>,
  options: RunRegisterOptions,
): Promise<RunRegister<Run, Event>> {
  return new RunRegister<Run, Event>(await openParts<Run, Event>(store, kind, options));
}

export class RunRegister<Run extends object, Event extends NumberedEvent = NumberedEvent> {
  readonly #kind: RunKind<Run>;
  readonly #runs: Collection<Run>;
  readonly #log: EventLog<Event> | undefined;
  readonly #news: RunNews<Run>;
  readonly #holders: Holders;
  /** The execution queue; successive deployments take it over. */
  readonly schedule: RunSchedule = new RunSchedule();
  #takeUp: TakeUp<Run> = () => undefined;

  constructor(parts: RegisterParts<Run, Event>) {
    this.#kind = parts.kind;
    this.#runs = parts.runs;
    this.#log = parts.log;
    this.#news = parts.news;
    this.#holders = parts.holders;
  }

  now(): number {
    return this.#runs.now();
  }

  find(runId: string): Run | undefined {
    return this.#runs.get(runId);
  }

  /** Returns the runs, oldest first. */
  list(): readonly Run[] {
    return this.#runs.values();
  }

  /** Returns an owner's runs, oldest first. */
  ofOwner(owner: string): readonly Run[] {
    return this.#runs.ofOwner(owner);
  }

  /** Returns an owner's runs, newest first. */
  newestOf(owner: string): readonly Run[] {
    return this.ofOwner(owner).toReversed();
  }

  /** Returns the runs that belong to a name in a group of the kind. */
  inGroup(group: string, name: string): readonly Run[] {
    return this.#runs.inGroup(group, name);
  }

  phaseOf(run: Run): RunPhase {
    const { statuses, statusOf } = this.#kind;
    // A status written by another build cannot be continued here.
    return statuses[statusOf(run)]?.phase ?? "over";
  }

  /** Returns the runs in one of these phases, oldest first. */
  inPhase(...phases: readonly RunPhase[]): readonly Run[] {
    return this.list().filter((run) => phases.includes(this.phaseOf(run)));
  }

  /** Adds a run if the quota allows it, evicting runs that are over where needed. */
  async add(
    { run, events = [] }: RunStep<Run, Event>,
    options: AddOptions<Run> = {},
  ): Promise<Adding<Run>> {
    const runId = this.#kind.idOf(run);
    const { also: asked = [] } = options;
    const others = typeof asked === "function" ? asked() : asked;
    const also = [...others, ...this.#put(runId, events)];
    try {
      return await this.#runs.add(runId, holding(this.#holders, run), { ...options, also });
    } catch (error) {
      if (findStoreFault(error)?.kind === "undecided") this.#lookFor(runId);
      throw error;
    }
  }

  /** Takes up a run whose commit was undecided: if it was stored, its caller does not know, and nobody executes it. */
  #lookFor(runId: string): void {
    const takeUp = (run: Run): unknown => setImmediate(() => this.#takeUp([run]));
    const run = this.#runs.get(runId);
    if (run === undefined) this.#news.onceThere(runId, takeUp);
    else takeUp(run);
  }

  /** Advances a run by a step decided from its current state; undefined if the step is none. */
  async advance(
    runId: string,
    decide: (run: Run) => RunStep<Run, Event> | undefined,
    { also = [], isHolders = false, onKept }: StepOptions = {},
  ): Promise<Run | undefined> {
    let events: readonly Event[] = [];
    const next = (before: Run): Run | undefined => {
      if (isHolders && !holds(this.#holders, before)) throw new HolderLostError();
      const step = decide(before);
      events = step?.events ?? [];
      if (step === undefined) return undefined;
      this.#check(before, step.run);
      return this.#heldBehind(before, step.run);
    };
    const changes = (): readonly AlsoChange[] => [
      ...(typeof also === "function" ? also() : also),
      ...this.#put(runId, events),
    ];
    return this.#news.afterStep(runId, async () => {
      const { item, isChanged } = await this.#runs.change(runId, next, { also: changes });
      if (!isChanged) return undefined;
      onKept?.();
      return item;
    });
  }

  /** Queues a run for execution. */
  enqueue(run: Run): void {
    this.schedule.add(this.#scheduled(run));
  }

  /** Removes a run that is still queued. */
  dequeue(run: Run): void {
    this.schedule.remove(this.#scheduled(run));
  }

  /**
   * Executes the queued runs until the returned function is called. `takeUp` enqueues runs that nobody executes: it
   * is called at once and whenever another node is found gone, with the unfinished runs, and with any run that
   * appears late.
   */
  executeBy(executor: RunExecutor, takeUp: TakeUp<Run>): () => void {
    const takeUpAll = (): void => takeUp(this.inPhase("active", "waiting"));
    takeUpAll();
    this.#takeUp = takeUp;
    this.schedule.use(executor);
    const forgetGone = this.onGone(takeUpAll);
    return () => {
      forgetGone();
      this.schedule.pause(executor);
    };
  }

  /** True if this process may execute the run, and does not. */
  isUnattended(run: Run): boolean {
    return this.isOurs(run) && !this.schedule.has(this.#scheduled(run));
  }

  /** Calls back whenever another node is found gone, until the returned function is called. */
  onGone(listener: () => void): () => void {
    return this.#holders.watch(listener);
  }

  /** True if this process holds the run. */
  isHeldHere(run: Run): boolean {
    return holds(this.#holders, run);
  }

  /** True if this process holds the run or may take it over. */
  isOurs(run: Run): boolean {
    return mayHold(this.#holders, run);
  }

  /** True if a change took the run from this process. */
  hasLeft(before: Run, after: Run): boolean {
    return holds(this.#holders, before) && !holds(this.#holders, after);
  }

  /** Makes this process the holder of an unfinished run; false if another process holds it, or the run is over. */
  async claim(runId: string): Promise<boolean> {
    const { self } = this.#holders;
    if (self === undefined) return true;
    let isHeld = false;
    await this.#runs.change(runId, (run) => {
      const isOver = this.phaseOf(run) === "over";
      isHeld = !isOver && holds(this.#holders, run);
      if (isOver || isHeld || !mayHold(this.#holders, run)) return undefined;
      isHeld = true;
      return holding(this.#holders, run);
    });
    return isHeld;
  }

  /** Deletes a run with its log and other entries. */
  async delete(runId: string): Promise<void> {
    await this.#runs.delete([runId]);
    await this.settled();
  }

  /** Returns events after a sequence number, in order, up to the run's event count as known here. */
  async events(runId: string, after: number, limit: number): Promise<readonly Event[]> {
    const { log } = this.#kind;
    const page = (await this.#log?.read(runId, after, limit)) ?? [];
    const { eventCount }: EventCounts = this.find(runId) ?? {};
    if (log === undefined || eventCount === undefined) return page;
    return page.filter(({ sequence }) => sequence < log.first + eventCount);
  }

  /** Resolves once `isDone` returns true or the wait ends; checked after each step of the run. */
  until(runId: string, isDone: () => boolean, wait: Ends): Promise<void> {
    return this.#news.until(runId, isDone, wait);
  }

  /** Calls the watcher on every change, until the returned function is called. */
  watch(watcher: RunWatcher<Run>): () => void {
    return this.#news.watch(watcher);
  }

  /** Deletes expired runs and the logs of deleted ones. */
  async sweep(): Promise<void> {
    await this.#runs.sweep();
    await this.#log?.clear();
  }

  /** Reads the changes of other processes. */
  refresh(): Promise<void> {
    return this.#runs.refresh();
  }

  /** Reads the changes of other processes, if the store is shared. */
  catchUp(): Promise<void> {
    return this.#runs.catchUp();
  }

  /** Resolves once the logs of deleted runs are deleted. */
  async settled(): Promise<void> {
    await this.#log?.clear();
  }

  #scheduled(run: Run): ScheduledRun {
    return { runId: this.#kind.idOf(run), owner: this.#kind.ownerOf(run) };
  }

  #put(runId: string, events: readonly Event[]): readonly Change[] {
    return events.flatMap((event) => this.#log?.put(runId, event) ?? []);
  }

  /** An answered run moves to the process that received the answer; otherwise the holder stays. */
  #heldBehind(before: Run, after: Run): Run {
    const isAnswered = this.phaseOf(before) === "waiting" && this.phaseOf(after) === "active";
    const isFree = (before as Held).heldBy === undefined;
    return isAnswered || isFree
      ? holding(this.#holders, after)
      : heldAs(this.#holders, before, after);
  }

  #check(before: Run, after: Run): void {
    const { statuses, statusOf } = this.#kind;
    const [from, to] = [statusOf(before), statusOf(after)];
    if (from === to || statuses[from]?.next.includes(to) === true) return;
    throw new Error(`a run that is "${from}" cannot become "${to}"`);
  }
}

/** The clock of a register, and the processes that hold its runs. */
export interface RunRegisterOptions {
  /** Milliseconds since the epoch. */
  now?(): number;
  /** The processes that may hold runs; default: only this one. */
  readonly holders?: Holders;
}

export interface RegisterParts<Run extends object, Event extends NumberedEvent> {
  readonly kind: RunKind<Run>;
  readonly runs: Collection<Run>;
  readonly log: EventLog<Event> | undefined;
  readonly news: RunNews<Run>;
  readonly holders: Holders;
}

/** Opens the parts of a register over a store. */
export async function openParts<Run extends object, Event extends NumberedEvent = NumberedEvent>(
  store: Store,
  kind: RunKind<Run>,
  { now = Date.now, holders = SOLE_HOLDER }: RunRegisterOptions,
): Promise<RegisterParts<Run, Event>> {
  const { statuses, statusOf, idOf, entriesOf, ownerOf } = kind;
  const log = kind.log && new EventLog<Event>(store, kind.log);
  const news = new RunNews(idOf);
  const runs = await Collection.open<Run>(store, {
    ...kind,
    ownerOf,
    rankOf: (run) => statuses[statusOf(run)]?.rank,
    changesOnDelete: (run) => {
      const runId = idOf(run);
      const others = entriesOf?.(runId) ?? [];
      const beside = others.map((entry): Change => ({ kind: "delete", ...entry }));
      return log === undefined ? beside : [...beside, log.doom(runId)];
    },
    onChange: (before, after) => {
      if (before !== undefined) news.changed(before, after);
      else if (after !== undefined) news.appeared(after);
    },
    now,
  });
  await log?.clear();
  // Not awaited: the run is already deleted, and a failed clearing is repeated at the next start.
  news.watch((_, after) => after === undefined && log?.clear().catch(() => undefined));
  return { kind, runs, log, news, holders };
}
