/**
 * What a run that is under way comes to: its stream is listened to where the agent has one, and its
 * server is asked for the verdict, whatever the stream does.
 */
import { Deadline, within } from "../../../deadline.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import { raceAbort } from "../../../race-abort.ts";
import type { RemoteAgent } from "../remote-agent.ts";
import { awaitVerdict, type Patience } from "./await-verdict.ts";
import { openRunStream, type RunStream } from "./record-stream.ts";
import { type AgentRun, addressOf } from "./run.ts";
import type { RunRegister } from "./run-register.ts";
import { type RunOutcome, takeFailure, takeVerdict } from "./take-verdict.ts";

/** What a run is followed with. */
export interface OutcomeContext {
  readonly register: Pick<RunRegister, "record">;
  readonly log: Pick<CallLog, "warn">;
  readonly patience: Patience;
  /** Ends it; then this rejects. */
  readonly signal: AbortSignal;
}

/** What is told before somebody listens is lost, so the verdict waits a moment for the stream. */
const STREAM_OPENING_MS = 1_000;
/** A stream may say what it has left after its run has ended. */
const STREAM_GRACE_MS = 250;

/** Waits for the outcome. */
export async function obtainOutcome(
  run: AgentRun,
  agent: RemoteAgent,
  { register, log, patience, signal }: OutcomeContext,
): Promise<RunOutcome> {
  const { client, manifest } = agent;
  const { runId, base, upstreamRunId } = run;
  const { values, custom } = manifest.specs.capabilities.streaming;
  const listening = new Deadline({ signals: [signal] });
  let stream: RunStream | undefined;
  if (values || custom) {
    stream = openRunStream({
      ...{ client, runId: upstreamRunId, silenceMs: patience.waitMs },
      signal: listening.signal,
      record: (events) => register.record(runId, events),
    });
    await atMost(STREAM_OPENING_MS, stream.opened, signal);
  }
  try {
    const verdict = await awaitVerdict(client, addressOf(run), patience, signal);
    if (stream !== undefined) await atMost(STREAM_GRACE_MS, stream.ended, signal);
    if (verdict.kind !== "failed") return takeVerdict(verdict, manifest.specs);
    const { error, detail, hint } = verdict;
    log.warn({ run_id: runId, base, error, detail, hint }, "a run's server does not answer");
    return takeFailure(verdict);
  } finally {
    listening.abort();
  }
}

async function atMost(timeoutMs: number, event: Promise<void>, stop: AbortSignal): Promise<void> {
  await within({ signals: [stop], timeoutMs }, (signal) => raceAbort(event, signal));
}
