/**
 * Obtains the outcome of a run that is under way: its stream is listened to where the agent has
 * one, and its server is asked for the verdict, whatever the stream does.
 */
import { raceAbort, within } from "../../../base/deadline.ts";
import { isRecord } from "../../../base/json-value.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { Verdict } from "../acp/acp-answers.ts";
import type { AcpFailure } from "../acp/acp-call.ts";
import type { AcpSpecs, Interrupt } from "../manifest/manifest.ts";
import { type RemoteAgent, streams } from "../remote-agent.ts";
import type { AgentRuns, RunChange } from "./agent-runs.ts";
import { awaitVerdict, WAIT_MS } from "./await-verdict.ts";
import { type AgentRun, addressOf, type RunError, type RunResult } from "./run.ts";
import { RunStream } from "./run-stream.ts";

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

/** Waits for the outcome; `begun` is the stream that the run was begun by, if it was. */
export async function obtainOutcome(
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
    const { error, detail, hint } = verdict;
    const { runId, base } = run;
    log.warn({ run_id: runId, base, error, detail, hint }, "a run's server does not answer");
    return takeFailure(verdict);
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

/** The outcome of a call that came to nothing. */
function takeFailure({ error, message }: AcpFailure): RunOutcome {
  return failed({ code: error, message });
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
