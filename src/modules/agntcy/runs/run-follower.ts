/**
 * Follows runs until they have come to something, whoever asks meanwhile: those that begin, those
 * that go on after an interrupt, and those that an earlier process left under way. One that takes
 * longer than the operator allows is given up, and called off where its server can.
 */
import { LRUCache } from "lru-cache";
import { Deadline, within } from "../../../base/deadline.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import type { AcpRun } from "../acp/acp-answers.ts";
import { type RemoteAgent, streams } from "../remote-agent.ts";
import { FORGOTTEN, PATIENCE, type Patience } from "./await-verdict.ts";
import { obtainOutcome } from "./obtain-outcome.ts";
import type { RunStream } from "./record-stream.ts";
import { type AgentRun, addressOf, isSettled } from "./run.ts";
import type { RunRegister } from "./run-register.ts";

/** What runs are followed with. */
export interface FollowerOptions {
  readonly register: RunRegister;
  readonly log: Pick<CallLog, "info" | "warn">;
  readonly patience?: Patience;
}

const CANCEL_TIMEOUT_MS = 5_000;
/** One look at a run that may have changed, how often there may be one, and for how long. */
const LOOK_TIMEOUT_MS = 3_000;
const LOOK_PAUSE_MS = 1_000;
const DOUBT_MS = 3_600_000;

export class RunFollower {
  readonly #register: RunRegister;
  readonly #log: FollowerOptions["log"];
  readonly #patience: Patience;
  readonly #closing = new AbortController();
  readonly #running = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  readonly #busy = new Set<string>();
  readonly #looked = new LRUCache<string, true>({ max: 4096, ttl: LOOK_PAUSE_MS });

  constructor({ register, log, patience = PATIENCE }: FollowerOptions) {
    this.#register = register;
    this.#log = log;
    this.#patience = patience;
  }

  /** Takes up everything that is under way with these agents, and what others have to leave. */
  start(agents: readonly RemoteAgent[]): void {
    const byBase = new Map(agents.map((agent) => [agent.base, agent]));
    this.#register.succeed((run) => {
      const agent = byBase.get(run.base);
      if (agent !== undefined) this.follow(run, agent);
    });
    for (const agent of agents) {
      for (const run of this.#register.pending(agent.base)) this.follow(run, agent);
    }
  }

  /** Follows a run; once, however often it is asked to. `begun` is the stream that it was begun by. */
  follow(run: AgentRun, agent: RemoteAgent, begun?: RunStream): void {
    const { runId } = run;
    // A request that outlives its configuration may still begin a run.
    if (this.#closing.signal.aborted) {
      begun?.close();
      this.#register.handOver(run);
      return;
    }
    if (this.#running.has(runId)) {
      this.#again.add(runId);
      return;
    }
    const following = this.#follow(runId, agent, begun)
      .catch((error: unknown) => {
        this.#log.warn({ error, run_id: runId }, "a run cannot be followed");
      })
      .finally(() => {
        this.#running.delete(runId);
        // It may have gone on while what there was of it was being brought to its end.
        if (this.#again.delete(runId)) this.follow(run, agent);
      });
    this.#running.set(runId, following);
  }

  /**
   * Looks whether a run's server has changed its mind: an `error` may have become a success, and an
   * interrupt may have been answered. Then the run is followed again, for a moment before this answers.
   */
  async reconsider(
    run: AgentRun,
    agent: RemoteAgent,
    caller: AbortSignal,
    { isForced = false }: { readonly isForced?: boolean } = {},
  ): Promise<AgentRun> {
    if (!isDoubtful(run) || this.#closing.signal.aborted) return run;
    // Who answers its question finds out by himself what becomes of it.
    const isLeft = isOld(run) || this.#looked.has(run.runId) || this.#busy.has(run.runId);
    if (!isForced && isLeft) return run;
    this.#looked.set(run.runId, true);
    const ends = { signals: [this.#closing.signal], timeoutMs: LOOK_TIMEOUT_MS };
    return within(ends, (signal) => this.#look(run, agent, caller, signal));
  }

  async #look(
    run: AgentRun,
    agent: RemoteAgent,
    caller: AbortSignal,
    signal: AbortSignal,
  ): Promise<AgentRun> {
    const seen = await agent.client.run(addressOf(run), signal);
    if (seen.kind === "failed") {
      return seen.status === 404 ? await this.#giveUpForgotten(run, agent, signal) : run;
    }
    if (isTheSame(run, seen.value)) return run;
    const deadlineAt = Date.now() + agent.timeoutMs;
    const change = {
      ...({ status: "pending", deadlineAt } as const),
      ...{ error: undefined, interrupt: undefined, isAnswerSent: undefined },
      ...(streams(agent.manifest) ? { mayLackEvents: true } : {}),
    };
    const changed = await this.#register.change(run.runId, [run.status], change, {});
    if (changed === undefined) return this.#register.find(run.runId) ?? run;
    this.follow(changed, agent);
    await within({ signals: [caller, signal] }, (end) =>
      this.#register.settled(run.runId, LOOK_TIMEOUT_MS, end),
    );
    return this.#register.find(run.runId) ?? changed;
  }

  /** Does one thing at a time with a run; undefined: something else is being done. */
  async exclusively<Value>(runId: string, work: () => Promise<Value>): Promise<Value | undefined> {
    if (this.#busy.has(runId)) return undefined;
    this.#busy.add(runId);
    try {
      return await work();
    } finally {
      this.#busy.delete(runId);
    }
  }

  /** Leaves what is under way to whoever comes next. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the server is closing"));
    this.#register.succeed(() => undefined);
    await Promise.all(this.#running.values());
  }

  async #follow(runId: string, agent: RemoteAgent, begun?: RunStream): Promise<void> {
    const run = this.#register.find(runId);
    if (run === undefined || isSettled(run)) {
      begun?.close();
      return;
    }
    // A clock that stepped back meanwhile gives nobody more time than was asked for.
    const timeoutMs = Math.min(agent.timeoutMs, Math.max(0, run.deadlineAt - Date.now()));
    const deadline = new Deadline({ signals: [this.#closing.signal], timeoutMs });
    const { signal } = deadline;
    try {
      void begun?.recordBy((events) => this.#register.record(runId, events));
      const context = {
        register: this.#register,
        log: this.#log,
        patience: this.#patience,
        signal,
      };
      const { change, result } = await obtainOutcome(run, agent, context, begun);
      await this.#register.change(runId, ["pending"], change, result);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      if (!deadline.isTimeOver) throw error;
      await this.#giveUp(run, agent);
    } finally {
      deadline.clear();
    }
  }

  /** A question that nobody would take the answer to; what has come to nothing stays as it is. */
  async #giveUpForgotten(
    run: AgentRun,
    { client }: RemoteAgent,
    signal: AbortSignal,
  ): Promise<AgentRun> {
    const { runId } = run;
    if (run.status !== "interrupted") return run;
    const waited = await client.waitForRun(addressOf(run), LOOK_TIMEOUT_MS, signal);
    if (waited.kind !== "failed" || waited.status !== 404) return run;
    const error = { code: "upstream_error", message: FORGOTTEN } as const;
    const change = {
      status: "error",
      error,
      interrupt: undefined,
      isAnswerSent: undefined,
    } as const;
    const changed = await this.#register.change(runId, ["interrupted"], change, {});
    return changed ?? this.#register.find(runId) ?? run;
  }

  async #giveUp(run: AgentRun, { client, canCancel }: RemoteAgent): Promise<void> {
    const message = "the run takes longer than this server waits";
    const error = { code: "upstream_timeout", message } as const;
    await this.#register.change(run.runId, ["pending"], { status: "timeout", error });
    if (!canCancel) return;
    await client.cancelRun(addressOf(run), AbortSignal.timeout(CANCEL_TIMEOUT_MS));
  }
}

/** What a server decided may change; what it answered that means nothing would not mean more. */
function isDoubtful({ status, error }: AgentRun): boolean {
  if (status === "interrupted") return true;
  return error?.code === "agent_run_failed" || error?.code === "upstream_connection_error";
}

function isOld({ status, updatedAt }: AgentRun): boolean {
  return status !== "interrupted" && Date.now() - updatedAt >= DOUBT_MS;
}

function isTheSame(run: AgentRun, seen: AcpRun): boolean {
  if (run.isAnswerSent === true) return false;
  const asKept = seen.status === "timeout" ? "error" : seen.status;
  return asKept === run.status && run.error?.code !== "upstream_connection_error";
}
