/**
 * The runs of tasks that somebody waits for: one or several of a task at once, as its overlap policy
 * has it, and so many of all tasks together. They end with the process. A run that waits for another
 * of its task holds no place of one that need not, unless that other is another node's.
 */
import type { TaskOwner } from "../../../base/task-queue.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { RunKind } from "../../../runs/run-kind.ts";
import { openRegister, type RunRegister } from "../../../runs/run-register.ts";
import { type RunExecutor, RunSchedule } from "../../../runs/run-schedule.ts";
import { createMemoryStore } from "../../../state/memory-store.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
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

/** `queued`: it waits for another of its task. `waiting`: for a place among all of them. */
type Status = "queued" | "waiting" | "running";

interface TaskRun {
  readonly runId: string;
  readonly taskId: string;
  readonly owner: string;
  readonly isStranger: boolean;
  readonly status: Status;
}

const KIND: RunKind<TaskRun, Status> = {
  name: "agentcli-runs",
  read: recordReader<TaskRun>({ runId: "string", taskId: "string", status: "string" }),
  statuses: {
    queued: { phase: "active", next: ["waiting"] },
    waiting: { phase: "active", next: ["running"] },
    running: { phase: "active", next: [] },
  },
  statusOf: ({ status }) => status,
  idOf: ({ runId }) => runId,
  ownerOf: ({ owner }) => owner,
  groups: { task: ({ taskId }) => taskId },
};

const RUNNING = "the task is running already";
const NOBODY = "nobody waits for the run any more";
const TOO_MANY_QUEUED = "too many runs of the task are waiting";

export class TaskRuns implements RunExecutor {
  readonly concurrent = 32;
  readonly waiting = 256;
  readonly #runs: RunRegister<TaskRun>;
  readonly #schedule = new RunSchedule();

  /** Of all nodes; undefined where there is one. */
  readonly #turns: TaskTurns | undefined;

  private constructor(runs: RunRegister<TaskRun>, turns: TaskTurns | undefined) {
    this.#runs = runs;
    this.#turns = turns;
    this.#schedule.use(this);
  }

  /** There are none yet; with turns, other nodes may have some. */
  static async open(turns?: TaskTurns): Promise<TaskRuns> {
    return new TaskRuns(await openRegister(createMemoryStore(), KIND), turns);
  }

  /** Begins a run when its turn has come. */
  async begin(
    { taskId, owner, signal }: WantedRun,
    { policy, maxQueued }: Overlap,
  ): Promise<BegunRun | NoRun> {
    const run: TaskRun = {
      ...{ runId: uuidv7(), taskId, owner: owner.key, isStranger: !owner.isKnown },
      status: policy === "queue" ? "queued" : "waiting",
    };
    const most = policy === "queue" ? maxQueued + 1 : 1;
    const unless = (): TaskRun | undefined => {
      const others = this.#runs.inGroup("task", taskId);
      return others.length < most ? undefined : others[0];
    };
    const exclusion = policy === "allow" ? {} : { turn: taskId, unless };
    const { kind } = await this.#runs.add({ run }, exclusion);
    if (kind !== "added") {
      return none(policy === "skip" ? RUNNING : TOO_MANY_QUEUED);
    }
    await (policy === "queue" ? this.#goOn(taskId) : this.#enter(run));
    const begun = await this.#await(run, signal);
    if (begun.kind === "none" || policy === "allow" || this.#turns === undefined) return begun;
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
      try {
        await turn.end();
      } finally {
        await begun.end();
      }
    };
    return { kind: "begun", end };
  }

  /** Holds a place for as long as a run is there. */
  async execute(runId: string): Promise<undefined> {
    const begun = await this.#move(runId, "running");
    if (begun === undefined) return;
    await this.#runs.until(runId, () => this.#runs.find(runId) === undefined, { signals: [] });
  }

  async #await(run: TaskRun, signal: AbortSignal): Promise<BegunRun | NoRun> {
    const { runId } = run;
    const isDecided = (): boolean => {
      const status = this.#runs.find(runId)?.status;
      return status === undefined || status === "running";
    };
    await this.#runs.until(runId, isDecided, { signals: [signal] });
    const isBegun = this.#runs.find(runId) !== undefined && !signal.aborted;
    if (isBegun) return { kind: "begun", end: () => this.#end(run) };
    await this.#end(run);
    return none(signal.aborted ? NOBODY : "too many tasks are running");
  }

  /** Lets a run wait for a place, as long as that many may. */
  async #enter(run: TaskRun): Promise<void> {
    if (!this.#schedule.add(run)) await this.#runs.delete(run.runId);
  }

  async #end(run: TaskRun): Promise<void> {
    this.#schedule.remove(run);
    await this.#runs.delete(run.runId);
    await this.#goOn(run.taskId);
  }

  /** Lets the run of a task that has queued longest wait for a place, where no other one is there. */
  async #goOn(taskId: string): Promise<void> {
    const [first] = this.#runs.inGroup("task", taskId);
    if (first?.status !== "queued") return;
    const next = await this.#move(first.runId, "waiting");
    if (next !== undefined) await this.#enter(next);
  }

  /** Undefined: it stands so already, or is gone. */
  #move(runId: string, status: Status): Promise<TaskRun | undefined> {
    return this.#runs.advance(runId, (run) =>
      run.status === status ? undefined : { run: { ...run, status } },
    );
  }
}

function none(message: string): NoRun {
  return { kind: "none", message };
}
