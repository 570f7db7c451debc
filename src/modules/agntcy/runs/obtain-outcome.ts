/**
 * Obtains the outcome of a run that is under way: its stream is listened to where the agent has
 * one, and its server is asked for the verdict, whatever the stream does.
 */
import { within } from "../../../base/deadline.ts";
import { raceAbort } from "../../../base/race-abort.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import { type RemoteAgent, streams } from "../remote-agent.ts";
import type { AgentRuns } from "./agent-runs.ts";
import { awaitVerdict, type Patience } from "./await-verdict.ts";
import { RunStream } from "./record-stream.ts";
import { type AgentRun, addressOf } from "./run.ts";
import { type RunOutcome, takeFailure, takeVerdict } from "./take-verdict.ts";

/** The parts that a run is followed with. */
export interface OutcomeContext {
  readonly register: Pick<AgentRuns, "record">;
  readonly log: Pick<CallLog, "warn">;
  readonly patience: Patience;
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
  const { log, patience, signal } = context;
  const stream = begun ?? joinStream(run, agent, context);
  try {
    if (begun === undefined && stream !== undefined) {
      await atMost(STREAM_OPENING_MS, stream.opened, signal);
    }
    const verdict = await awaitVerdict(client, addressOf(run), patience, signal);
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

/** Of a run that is under way already, only what comes from now on is heard. */
function joinStream(
  { runId, upstreamRunId }: AgentRun,
  { client, manifest }: RemoteAgent,
  { register, patience, signal }: OutcomeContext,
): RunStream | undefined {
  if (!streams(manifest)) return undefined;
  const stream = new RunStream(client, (closing) =>
    client.streamRun(upstreamRunId, patience.waitMs, closing),
  );
  void stream.recordBy((events) => register.record(runId, events));
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
