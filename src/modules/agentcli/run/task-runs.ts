/**
 * The runs of tasks that somebody waits for: one or several of a task at once, as its overlap policy
 * has it, and so many of all tasks together. They end with the process. A run that waits for another
 * of its task holds no place of one that need not, unless that other is another node's.
 */
import { raceAbort } from "../../../base/deadline.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { type RunExecutor, RunSchedule, type ScheduledRun } from "../../../runs/run-schedule.ts";
import type { TakenTurn, TaskTurns } from "./task-turns.ts";

/** The policy for two runs of one task at once; "allow" where nothing is declared. */
interface Overlap {
  readonly policy: "skip" | "allow" | "queue";
  readonly maxQueued: number;
}

/** A run that is wanted: of which task, and whose place it takes. */
interface WantedRun {
  readonly taskId: string;
  readonly owner: TaskOwner;
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/** A run whose turn it is; end it, whatever comes. */
interface BegunRun {
  readonly kind: "begun";
  end(): Promise<void>;
}

interface NoRun {
  readonly kind: "none";
  readonly message: string;
}

/** A run from when it is wanted until it has ended. */
class TaskRun implements ScheduledRun {
  readonly runId: string = uuidv7();
  readonly taskId: string;
  readonly owner: string;
  readonly isStranger: boolean;
  /** It waits for another of its task, and not for a place yet. */
  isQueued: boolean;
  /** Resolves when it has a place; false: there is no room for it to wait. */
  readonly begun: Promise<boolean>;
  readonly ended: Promise<void>;
  begin: (hasPlace: boolean) => void = () => undefined;
  end: () => void = () => undefined;

  constructor({ taskId, owner }: WantedRun, isQueued: boolean) {
    this.taskId = taskId;
    this.owner = owner.key;
    this.isStranger = !owner.isKnown;
    this.isQueued = isQueued;
    this.begun = new Promise((resolve) => {
      this.begin = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }
}

const RUNNING = "the task is running already";
const NOBODY = "nobody waits for the run any more";
const TOO_MANY_QUEUED = "too many runs of the task are waiting";
const TOO_MANY = "too many tasks are running";

export class TaskRuns implements RunExecutor {
  readonly concurrent = 32;
  readonly waiting = 256;
  /** By id, the oldest first. */
  readonly #runs = new Map<string, TaskRun>();
  readonly #schedule = new RunSchedule();
  /** Of all nodes; undefined where there is one. */
  readonly #turns: TaskTurns | undefined;

  /** There are none yet; with turns, other nodes may have some. */
  constructor(turns?: TaskTurns) {
    this.#turns = turns;
    this.#schedule.use(this);
  }

  /** Begins a run when its turn has come. */
  async begin(wanted: WantedRun, { policy, maxQueued }: Overlap): Promise<BegunRun | NoRun> {
    const { taskId, signal } = wanted;
    const others = this.#ofTask(taskId).length;
    if (policy === "skip" && others > 0) return none(RUNNING);
    if (policy === "queue" && others > maxQueued) return none(TOO_MANY_QUEUED);
    const run = new TaskRun(wanted, policy === "queue");
    this.#runs.set(run.runId, run);
    if (run.isQueued) this.#goOn(taskId);
    else this.#enter(run);
    const hasPlace = (await raceAbort(run.begun, signal)) === true;
    if (!hasPlace || signal.aborted) {
      this.#end(run);
      return none(signal.aborted ? NOBODY : TOO_MANY);
    }
    const begun: BegunRun = { kind: "begun", end: async () => this.#end(run) };
    if (policy === "allow" || this.#turns === undefined) return begun;
    return this.#inTurn(begun, this.#turns, { taskId, policy, signal });
  }

  /** A run that is alone among those of its task on all nodes. */
  async #inTurn(
    begun: BegunRun,
    turns: TaskTurns,
    { taskId, policy, signal }: Pick<WantedRun, "taskId" | "signal"> & Pick<Overlap, "policy">,
  ): Promise<BegunRun | NoRun> {
    let turn: TakenTurn | undefined;
    try {
      const isPatient = policy === "queue";
      turn = await (isPatient ? turns.await(taskId, { signals: [signal] }) : turns.take(taskId));
    } finally {
      if (turn === undefined) await begun.end();
    }
    if (turn === undefined) return none(signal.aborted ? NOBODY : RUNNING);
    const end = async (): Promise<void> => {
      await turn.end();
      await begun.end();
    };
    return { kind: "begun", end };
  }

  /** Holds a place for as long as a run is there. */
  async execute(runId: string): Promise<void> {
    const run = this.#runs.get(runId);
    run?.begin(true);
    await run?.ended;
  }

  reportFault(error: unknown): never {
    throw error;
  }

  #ofTask(taskId: string): readonly TaskRun[] {
    return [...this.#runs.values()].filter((run) => run.taskId === taskId);
  }

  /** Lets a run wait for a place, as long as that many may. */
  #enter(run: TaskRun): void {
    if (this.#schedule.add(run)) return;
    this.#runs.delete(run.runId);
    run.begin(false);
  }

  #end(run: TaskRun): void {
    this.#schedule.remove(run);
    this.#runs.delete(run.runId);
    run.end();
    this.#goOn(run.taskId);
  }

  /** Lets the run of a task that has queued longest wait for a place, where no other one is there. */
  #goOn(taskId: string): void {
    const [first] = this.#ofTask(taskId);
    if (first?.isQueued !== true) return;
    first.isQueued = false;
    this.#enter(first);
  }
}

function none(message: string): NoRun {
  return { kind: "none", message };
}
