/**
 * Schedules the runs of tasks, within the overlap policy per task and a limit for all tasks. Runs end with the process.
 * A run queued behind another of its task holds no slot, unless that other is on another node.
 */
import { raceAbort } from "../../../base/deadline.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { type RunExecutor, RunSchedule, type ScheduledRun } from "../../../runs/run-schedule.ts";
import type { TakenTurn, TaskTurns } from "./task-turns.ts";

/** The overlap policy; "allow" by default. */
interface Overlap {
  readonly policy: "skip" | "allow" | "queue";
  readonly maxQueued: number;
}

/** A requested run, with its task and owner. */
interface WantedRun {
  readonly taskId: string;
  readonly owner: TaskOwner;
  /** Aborted when no caller waits for the run. */
  readonly signal: AbortSignal;
}

/** A run that may start; `end` must always be called. */
interface BegunRun {
  readonly kind: "begun";
  end(): Promise<void>;
}

interface NoRun {
  readonly kind: "none";
  readonly message: string;
}

/** A run from its request to its end. */
class TaskRun implements ScheduledRun {
  readonly runId: string = uuidv7();
  readonly taskId: string;
  readonly owner: string;
  readonly isStranger: boolean;
  /** True while it is queued behind another run of its task. */
  isQueued: boolean;
  /** Resolves with true once it has a slot; false if the queue is full. */
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
  /** By id, oldest first. */
  readonly #runs = new Map<string, TaskRun>();
  readonly #schedule = new RunSchedule();
  /** Turns shared by all nodes; undefined with a single node. */
  readonly #turns: TaskTurns | undefined;

  /** `turns` excludes runs of the same task on other nodes. */
  constructor(turns?: TaskTurns) {
    this.#turns = turns;
    this.#schedule.use(this);
  }

  /** Waits until a run may start. */
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

  /** Waits for the turn of the task among all nodes. */
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

  /** Occupies a slot until the run ends. */
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

  /** Queues a run for a slot; refused if the queue is full. */
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

  /** Queues the oldest run of a task for a slot, if it is not already. */
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
