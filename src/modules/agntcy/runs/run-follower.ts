/**
 * Follows runs until they have come to something, whoever asks meanwhile: those that begin, those
 * that go on after an interrupt, and those that an earlier process left under way. One that takes
 * longer than the operator allows is given up, and called off where its server can.
 */
import { Deadline } from "../../../base/deadline.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import type { RunExecutor } from "../../../runs/run-schedule.ts";
import type { RemoteAgent } from "../remote-agent.ts";
import type { AgentRuns } from "./agent-runs.ts";
import { obtainOutcome } from "./obtain-outcome.ts";
import { type AgentRun, addressOf, isSettled, type RunEvent } from "./run.ts";
import { RunReview } from "./run-review.ts";
import type { RunStream } from "./run-stream.ts";

interface FollowerOptions {
  readonly register: AgentRuns;
  readonly log: Pick<CallLog, "info" | "warn">;
}

const CANCEL_TIMEOUT_MS = 5_000;
/** A run whose time was over while nobody followed it may have come to something in time. */
const LAST_LOOK_MS = 3_000;
/** A step of a run that this process follows, and no other. */
const FOLLOWING = { isHolders: true } as const;

export class RunFollower implements RunExecutor {
  readonly concurrent: number = Infinity;
  /** Looks again at runs that have stopped. */
  readonly review: RunReview;
  readonly #register: AgentRuns;
  readonly #log: FollowerOptions["log"];
  readonly #closing = new AbortController();
  #agents: ReadonlyMap<string, RemoteAgent> = new Map();
  #stop: () => void = () => undefined;
  /** By run, the stream that it was begun by. */
  readonly #streams = new Map<string, RunStream>();

  constructor({ register, log }: FollowerOptions) {
    this.#register = register;
    this.#log = log;
    const follow = (run: AgentRun): void => this.follow(run);
    this.review = new RunReview({ register, follow, closing: this.#closing.signal });
  }

  /** Takes up everything that is under way with these agents, and what others have to leave. */
  start(agents: readonly RemoteAgent[]): void {
    this.#agents = new Map(agents.map((agent) => [agent.base, agent]));
    const register = this.#register;
    this.#stop = register.executeBy(this, (runs) => {
      for (const run of runs) {
        if (register.phaseOf(run) !== "active" || !register.isUnattended(run)) continue;
        if (run.isBeginning === true) this.#giveBack(run);
        else if (this.#agents.has(run.base)) this.follow(run);
      }
    });
  }

  /** Follows a run under the deployment that is served then; `begun` is the stream that it was begun by. */
  follow(run: AgentRun, begun?: RunStream): void {
    // A request that outlives its configuration may still begin a run.
    if (this.#closing.signal.aborted) begun?.close();
    else if (begun !== undefined) this.#streams.set(run.runId, begun);
    this.#register.enqueue(run);
  }

  /** Where the store cannot keep the answer of the run's server, that is asked once more. */
  async execute(runId: string): Promise<void> {
    const begun = this.#streams.get(runId);
    this.#streams.delete(runId);
    if (await this.#register.claim(runId)) await this.#follow(runId, begun);
    else begun?.close();
  }

  reportFault(error: unknown, runId: string): void {
    this.#log.warn({ error, run_id: runId }, "a run cannot be followed");
  }

  /** Leaves what is under way to whoever comes next. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the server is closing"));
    this.#stop();
    await this.#register.schedule.idle(this);
    for (const stream of this.#streams.values()) stream.close();
  }

  /** The process that was to begin it is gone, and nobody has its id. */
  #giveBack({ runId }: AgentRun): void {
    this.#register.giveBack(runId).catch((error: unknown) => this.reportFault(error, runId));
  }

  async #follow(runId: string, begun: RunStream | undefined): Promise<void> {
    const run = this.#register.find(runId);
    const agent = run && this.#agents.get(run.base);
    if (run === undefined || agent === undefined || isSettled(run)) {
      begun?.close();
      return;
    }
    // A clock that stepped back meanwhile gives nobody more time than was asked for.
    const timeoutMs = Math.min(
      agent.timeoutMs,
      Math.max(LAST_LOOK_MS, run.deadlineAt - Date.now()),
    );
    const deadline = new Deadline({ signals: [this.#closing.signal], timeoutMs });
    try {
      const record = (events: readonly RunEvent[]) =>
        this.#register.record(runId, events, FOLLOWING);
      begun?.recordBy(record).catch(() => begun.close());
      const { change, result } = await obtainOutcome(run, agent, this.#context(deadline), begun);
      await this.#register.change(runId, change, { expected: ["pending"], result, ...FOLLOWING });
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      if (!deadline.isTimeOver) throw error;
      await this.#giveUp(run, agent);
    } finally {
      deadline.clear();
    }
  }

  #context({ signal }: Deadline) {
    return { register: this.#register, log: this.#log, signal };
  }

  async #giveUp(run: AgentRun, { client, canCancel }: RemoteAgent): Promise<void> {
    const message = "the run takes longer than this server waits";
    const error = { code: "upstream_timeout", message } as const;
    const expected = ["pending"] as const;
    const change = { status: "timeout", error } as const;
    await this.#register.change(run.runId, change, { expected, ...FOLLOWING });
    if (!canCancel) return;
    await client.cancelRun(addressOf(run), AbortSignal.timeout(CANCEL_TIMEOUT_MS));
  }
}
