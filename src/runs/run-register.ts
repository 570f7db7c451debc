/**
 * All runs of a kind, through every reload and restart: begun, found, moved on, waited for, forgotten.
 * A step is in the store before anybody hears of it, together with the events that say so, and is
 * decided from how the run stands then: of two that exclude each other exactly one is taken.
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

/** A run after a step, and the events that say so. */
export interface RunStep<Run, Event> {
  readonly run: Run;
  readonly events?: readonly Event[];
}

export interface StepOptions {
  /** Changes that are made with it, or not at all; asked for once the step is decided. */
  readonly also?: readonly AlsoChange[] | (() => readonly AlsoChange[]);
  /** It is a step of the execution: refused with HolderLostError where another node executes the run. */
  readonly isHolders?: boolean;
  /** Called once it is kept, before anybody else hears of it. */
  onKept?(): void;
}

/** Takes up runs that are not over, as far as nobody works at them. */
type TakeUp<Run> = (runs: readonly Run[]) => void;

/** Opens a register that has nothing of its own. */
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
  /** The runs that are executed; deployments hand them over by it. */
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

  /** The oldest first. */
  list(): readonly Run[] {
    return this.#runs.values();
  }

  /** An owner's, the oldest first. */
  ofOwner(owner: string): readonly Run[] {
    return this.#runs.ofOwner(owner);
  }

  /** An owner's, the newest first. */
  newestOf(owner: string): readonly Run[] {
    return this.ofOwner(owner).toReversed();
  }

  /** Lists the runs that have a name in a group of the kind. */
  inGroup(group: string, name: string): readonly Run[] {
    return this.#runs.inGroup(group, name);
  }

  phaseOf(run: Run): RunPhase {
    const { statuses, statusOf } = this.#kind;
    // A status that another build wrote is nothing that this one goes on with.
    return statuses[statusOf(run)]?.phase ?? "over";
  }

  /** Lists the runs in one of these phases, the oldest first. */
  inPhase(...phases: readonly RunPhase[]): readonly Run[] {
    return this.list().filter((run) => phases.includes(this.phaseOf(run)));
  }

  /** Takes a run on, where there is room for it; what is over may make room. */
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

  /** A run that nobody was told of is there all the same, and is nobody's: it is taken up like others that are left. */
  #lookFor(runId: string): void {
    const takeUp = (run: Run): unknown => setImmediate(() => this.#takeUp([run]));
    const run = this.#runs.get(runId);
    if (run === undefined) this.#news.onceThere(runId, takeUp);
    else takeUp(run);
  }

  /** Moves a run on, as is decided from how it stands; undefined where it does not move. */
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

  /** Takes back a run whose turn has not come. */
  dequeue(run: Run): void {
    this.schedule.remove(this.#scheduled(run));
  }

  /**
   * Executes the queued runs until the function that it answers with is called. `takeUp` enqueues those that nobody
   * executes: it is given all at once, and when another node is found gone, and one that is found late.
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

  /** Tells whether this process may execute a run, and does not. */
  isUnattended(run: Run): boolean {
    return this.isOurs(run) && !this.schedule.has(this.#scheduled(run));
  }

  /** Calls back when another node is found gone, until the function that is answered was called. */
  onGone(listener: () => void): () => void {
    return this.#holders.watch(listener);
  }

  /** Tells whether it is this process that a run belongs to. */
  isHeldHere(run: Run): boolean {
    return holds(this.#holders, run);
  }

  /** Tells whether this process executes a run, or may take it over. */
  isOurs(run: Run): boolean {
    return mayHold(this.#holders, run);
  }

  /** Tells whether a change has taken a run from this process. */
  hasLeft(before: Run, after: Run): boolean {
    return holds(this.#holders, before) && !holds(this.#holders, after);
  }

  /** Makes this process the one that executes a run that is not over; false: another does. */
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

  /** Forgets a run, with all that is kept of it. */
  async delete(runId: string): Promise<void> {
    await this.#runs.delete([runId]);
    await this.settled();
  }

  /** Events behind a number, in order: those that the run has as it stands here, and no later ones. */
  async events(runId: string, after: number, limit: number): Promise<readonly Event[]> {
    const { log } = this.#kind;
    const page = (await this.#log?.read(runId, after, limit)) ?? [];
    const { eventCount }: EventCounts = this.find(runId) ?? {};
    if (log === undefined || eventCount === undefined) return page;
    return page.filter(({ sequence }) => sequence < log.first + eventCount);
  }

  /** Resolves when `isDone`, or when the wait is ended; looked at with every step of the run. */
  until(runId: string, isDone: () => boolean, wait: Ends): Promise<void> {
    return this.#news.until(runId, isDone, wait);
  }

  /** Calls the watcher from now on, until the function that is answered was called. */
  watch(watcher: RunWatcher<Run>): () => void {
    return this.#news.watch(watcher);
  }

  /** Forgets what nobody needs any more. */
  async sweep(): Promise<void> {
    await this.#runs.sweep();
    await this.#log?.clear();
  }

  /** Takes in what others have changed. */
  refresh(): Promise<void> {
    return this.#runs.refresh();
  }

  /** The same where there are others. */
  catchUp(): Promise<void> {
    return this.#runs.catchUp();
  }

  /** Waits until the logs of what was deleted are deleted, too. */
  async settled(): Promise<void> {
    await this.#log?.clear();
  }

  #scheduled(run: Run): ScheduledRun {
    return { runId: this.#kind.idOf(run), owner: this.#kind.ownerOf(run) };
  }

  #put(runId: string, events: readonly Event[]): readonly Change[] {
    return events.flatMap((event) => this.#log?.put(runId, event) ?? []);
  }

  /** A run that has its answer is executed where that came in; else its holder stays. */
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
  /** Whose runs are whose; without it, all are this process's. */
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
  // Nobody waits for it: the run is unknown by now, and its log is cleared at the next start, too.
  news.watch((_, after) => after === undefined && log?.clear().catch(() => undefined));
  return { kind, runs, log, news, holders };
}
