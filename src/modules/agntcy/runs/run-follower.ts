/**
 * Follows runs until they have an outcome, independent of callers: new runs, resumed ones, and those left by an earlier
 * process. A run beyond its time limit is given up, and cancelled if its server supports that.
 */
import { Deadline, raceAbort, within } from "../../../base/deadline.ts";
import { isRecord } from "../../../base/json-value.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { RunExecutor } from "../../../runs/run-schedule.ts";
import type { Verdict } from "../acp/acp-answers.ts";
import type { AcpSpecs, Interrupt } from "../manifest/manifest.ts";
import { type RemoteAgent, streams } from "../remote-agent.ts";
import type { AgentRuns, RunChange } from "./agent-runs.ts";
import { awaitVerdict, WAIT_MS } from "./await-verdict.ts";
import {
  type AgentRun,
  addressOf,
  isSettled,
  type RunError,
  type RunEvent,
  type RunResult,
} from "./run.ts";
import { RunReview } from "./run-review.ts";
import { RunStream } from "./run-stream.ts";

interface FollowerOptions {
  readonly register: AgentRuns;
  readonly log: Pick<CallLog, "info" | "warn">;
}

const CANCEL_TIMEOUT_MS = 5_000;
/** The minimum time to follow a run, which may have ended in time while nobody followed it. */
const LAST_LOOK_MS = 3_000;
/** The option of steps that only the run's holder may take. */
const FOLLOWING = { isHolders: true } as const;

export class RunFollower implements RunExecutor {
  readonly concurrent: number = Infinity;
  /** Reviews settled runs. */
  readonly review: RunReview;
  readonly #register: AgentRuns;
  readonly #log: FollowerOptions["log"];
  readonly #closing = new AbortController();
  #agents: ReadonlyMap<string, RemoteAgent> = new Map();
  #stop: () => void = () => undefined;
  /** The streams that runs were begun with, by run. */
  readonly #streams = new Map<string, RunStream>();

  constructor({ register, log }: FollowerOptions) {
    this.#register = register;
    this.#log = log;
    const follow = (run: AgentRun): void => this.follow(run);
    this.review = new RunReview({ register, follow, closing: this.#closing.signal });
  }

  /** Resumes following pending runs of these agents, and takes over those that other nodes lose. */
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

  /** Enqueues a run to be followed; `begun` is the stream that it was begun with. */
  follow(run: AgentRun, begun?: RunStream): void {
    // A request may begin a run after its deployment was closed.
    if (this.#closing.signal.aborted) begun?.close();
    else if (begun !== undefined) this.#streams.set(run.runId, begun);
    this.#register.enqueue(run);
  }

  /** Follows a run. If the verdict cannot be stored, the server is asked again later. */
  async execute(runId: string): Promise<void> {
    const begun = this.#streams.get(runId);
    this.#streams.delete(runId);
    if (await this.#register.claim(runId)) await this.#follow(runId, begun);
    else begun?.close();
  }

  reportFault(error: unknown, runId: string): void {
    this.#log.warn({ error, run_id: runId }, "a run cannot be followed");
  }

  /** Stops; the next process or deployment continues. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the server is closing"));
    this.#stop();
    await this.#register.schedule.idle(this);
    for (const stream of this.#streams.values()) stream.close();
  }

  /** Releases the place of a run whose beginning process is gone: its server's id is unknown. */
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
    // Bounded by the full timeout, in case the clock was set back.
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

interface OutcomeContext {
  readonly register: Pick<AgentRuns, "record">;
  readonly log: Pick<CallLog, "warn">;
  /** Rejects the wait when aborted. */
  readonly signal: AbortSignal;
}

/** How long the verdict waits for the stream to open, since earlier events would be lost. */
const STREAM_OPENING_MS = 1_000;
/** How long a stream may send its rest after the run has ended. */
const STREAM_GRACE_MS = 250;

/**
 * Obtains the outcome of a pending run: streams its events if the agent supports it, and asks for the verdict
 * regardless of the stream.
 */
async function obtainOutcome(
  run: AgentRun,
  agent: RemoteAgent,
  context: OutcomeContext,
  begun: RunStream | undefined,
): Promise<RunOutcome> {
  const { client, manifest } = agent;
  const { log, signal } = context;
  const stream = begun ?? joinStream(run, agent, context);
  try {
    if (begun === undefined && stream !== undefined) {
      await atMost(STREAM_OPENING_MS, stream.opened, signal);
    }
    const verdict = await awaitVerdict(client, addressOf(run), signal);
    const hasEnded = stream && (await atMost(STREAM_GRACE_MS, stream.ended, signal));
    const isWhole = begun !== undefined && hasEnded === true;
    if (verdict.kind !== "failed") return withWhole(takeVerdict(verdict, manifest.specs), isWhole);
    const { error, message, detail, hint } = verdict;
    const { runId, base } = run;
    log.warn({ run_id: runId, base, error, detail, hint }, "a run's server does not answer");
    return failed({ code: error, message });
  } finally {
    stream?.close();
  }
}

/** Streams a run that is already pending; earlier events are lost. */
function joinStream(
  { runId, upstreamRunId }: AgentRun,
  { client, manifest }: RemoteAgent,
  { register, signal }: OutcomeContext,
): RunStream | undefined {
  if (!streams(manifest)) return undefined;
  const stream = new RunStream(client, (closing) =>
    client.streamRun(upstreamRunId, WAIT_MS, closing),
  );
  void stream.recordBy((events) => register.record(runId, events, { isHolders: true }));
  signal.addEventListener("abort", () => stream.close(), { once: true });
  return stream;
}

function withWhole({ change, result }: RunOutcome, isWhole: boolean): RunOutcome {
  return isWhole ? { change: { ...change, mayLackEvents: undefined }, result } : { change, result };
}

async function atMost<T>(
  timeoutMs: number,
  event: Promise<T>,
  stop: AbortSignal,
): Promise<T | "aborted"> {
  return within({ signals: [stop], timeoutMs }, (signal) => raceAbort(event, signal));
}

/**
 * The change that a verdict makes to a run. The manifest's schemas are binding: an undeclared output is the server's
 * fault, and interrupts are identified by them.
 */
interface RunOutcome {
  readonly change: RunChange;
  readonly result: RunResult;
}

const MAX_FAULT_LENGTH = 300;

/** The outcome of a final verdict. */
function takeVerdict(
  verdict: Exclude<Verdict, { readonly kind: "pending" }>,
  specs: AcpSpecs,
): RunOutcome {
  switch (verdict.kind) {
    case "success":
      return takeOutput(verdict.output, specs);
    case "interrupted":
      return takeInterrupt(verdict.interrupt, specs.interrupts);
    case "error":
    case "timeout": {
      const { kind, ...more } = verdict;
      const message = kind === "error" ? "the agent's run failed" : "the agent's run took too long";
      return failed({ code: "agent_run_failed", message, ...more });
    }
  }
}

function failed(error: RunError): RunOutcome {
  return { change: { status: "error", error, interrupt: undefined }, result: {} };
}

function takeOutput(output: unknown, { output: schema }: AcpSpecs): RunOutcome {
  const [violation] = schema.check(output) ?? [];
  if (violation === undefined) {
    const change = { status: "success", error: undefined, interrupt: undefined } as const;
    return { change, result: { output } };
  }
  const fault = `${violation.path || "/"} ${violation.message}`.slice(0, MAX_FAULT_LENGTH);
  const message = `the run's output is not what the agent's manifest declares: ${fault}`;
  return failed({ code: "upstream_malformed_response", message });
}

function takeInterrupt(written: unknown, interrupts: readonly Interrupt[]): RunOutcome {
  const found = identifyInterrupt(written, interrupts);
  if (found === undefined) {
    const message =
      "the run was interrupted for something that the agent's manifest does not declare";
    return failed({ code: "upstream_malformed_response", message });
  }
  const interrupt = { interruptId: uuidv7(), type: found.type };
  const change = { status: "interrupted", error: undefined, interrupt } as const;
  return { change, result: { payload: found.payload } };
}

/**
 * Identifies an interrupt. Servers wrap the payload in its type; an unwrapped payload has the first type whose schema
 * it satisfies, as for the servers. Without a payload, only a sole declared interrupt can be meant.
 */
function identifyInterrupt(
  written: unknown,
  interrupts: readonly Interrupt[],
): { readonly type: string; readonly payload: unknown } | undefined {
  if (isRecord(written)) {
    const named = interrupts.find(({ type }) => Object.hasOwn(written, type));
    const isWrapper = Object.keys(written).length === 1;
    if (named !== undefined && isWrapper) return { type: named.type, payload: written[named.type] };
  }
  if (written === undefined || written === null) {
    const [only, ...others] = interrupts;
    return only === undefined || others.length > 0 ? undefined : { type: only.type, payload: null };
  }
  const fitting = interrupts.find(({ payload }) => payload.check(written) === undefined);
  return fitting && { type: fitting.type, payload: written };
}
