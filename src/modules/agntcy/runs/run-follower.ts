/**
 * Follows runs until they have come to something, whoever asks meanwhile: those that begin, those
 * that go on after an interrupt, and those that an earlier process left under way. One that takes
 * longer than the operator allows is given up, and called off where its server can.
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

interface OutcomeContext {
  readonly register: Pick<AgentRuns, "record">;
  readonly log: Pick<CallLog, "warn">;
  /** Ends it; then this rejects. */
  readonly signal: AbortSignal;
}

/** An event before somebody listens is lost, so the verdict waits a moment for the stream. */
const STREAM_OPENING_MS = 1_000;
/** A stream may say what it has left after its run has ended. */
const STREAM_GRACE_MS = 250;

/**
 * Obtains the outcome of a run that is under way: its stream is listened to where the agent has
 * one, and its server is asked for the verdict, whatever the stream does.
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

/** Listens to a run that is under way already: only what comes from now on is heard. */
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
 * The change of a run by the verdict of an agent's server. The manifest's schemas are the contract:
 * an output that they do not describe is the server's mistake, and they tell which question an
 * interrupt asks.
 */
interface RunOutcome {
  readonly change: RunChange;
  readonly result: RunResult;
}

const MAX_FAULT_LENGTH = 300;

/** The outcome of anything but `pending`. */
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
 * Servers wrap what an interrupt holds in its type; one that only has what it holds is taken for the
 * first type that describes it, as they do themselves. One that says nothing can only be the only one.
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
