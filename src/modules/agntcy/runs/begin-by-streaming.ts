/**
 * Begins a run by the call that creates it and streams it at once: whoever listens a moment later has
 * missed what an agent says first. Its server names the run in what it streams, and where it streams
 * nothing yet, among the runs that it can be asked for; one that cannot be asked is not begun so.
 * Agent Connect Protocol "Create a stateless run and stream its output"
 */
import { setTimeout as delay } from "node:timers/promises";
import { within } from "../../../base/deadline.ts";
import type { AcpOutcome, AcpRunStatus } from "../acp/acp-answers.ts";
import { type AcpFailure, type AcpResponse, isFailure, malformed } from "../acp/acp-call.ts";
import type { AcpClient } from "../acp/acp-client.ts";
import type { RunCreation } from "../acp/run-creation.ts";
import type { Patience } from "./await-verdict.ts";
import { RunStream } from "./record-stream.ts";

interface StreamedBeginning {
  readonly client: AcpClient;
  readonly creation: RunCreation;
  /** The member of its metadata that it is found by. */
  readonly marker: readonly [name: string, value: string];
  readonly patience: Patience;
  readonly signal: AbortSignal;
}

/** A run that is under way. */
export interface BegunRun {
  /** The server's id of it. */
  readonly upstreamRunId: string;
  /** Undefined: nobody has listened to it from its first moment on. */
  readonly stream?: RunStream;
}

/** Before the first look: most agents say something soon. */
const FIRST_LOOK_MS = 50;
/** Runs that have stopped are where a stream has ended without a word. */
const STOPPED: readonly AcpRunStatus[] = ["interrupted", "success", "error", "timeout", "pending"];
/** Statuses of a call that is not there; others may pass. */
const UNABLE: ReadonlySet<number> = new Set([400, 404, 405, 422, 500, 501]);

/** Begins it. Undefined: the server cannot do it so, and nothing has begun. */
export async function beginByStreaming(
  beginning: StreamedBeginning,
): Promise<AcpOutcome<BegunRun> | undefined> {
  const { client, creation, patience, signal } = beginning;
  if (!(await isAble(client, creation.agentId, signal))) return undefined;
  let failure: AcpFailure | undefined;
  const stream = new RunStream(client, async (closing) => {
    const answer: AcpResponse | AcpFailure = await client.streamNewRun(
      creation,
      patience.waitMs,
      closing,
    );
    if (isFailure(answer)) failure = answer;
    return answer;
  });
  const leave = (): void => stream.close();
  signal.addEventListener("abort", leave, { once: true });
  try {
    await stream.opened;
    if (failure !== undefined) return await afterFailure(beginning, failure);
    const upstreamRunId = await nameOf(stream, beginning);
    if (upstreamRunId !== undefined) return { kind: "ok", value: { upstreamRunId, stream } };
    stream.close();
    return malformed("does not tell which run was begun");
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

async function isAble(client: AcpClient, agentId: string, signal: AbortSignal): Promise<boolean> {
  if (client.beginsByStreaming !== undefined) return client.beginsByStreaming;
  const runs = await client.searchRuns(agentId, "pending", signal);
  remember(client, runs.kind === "ok" ? undefined : runs);
  return runs.kind === "ok";
}

function remember(client: AcpClient, failure: AcpFailure | undefined): void {
  if (failure === undefined) client.beginsByStreaming = true;
  else if (UNABLE.has(failure.status ?? 0)) client.beginsByStreaming = false;
}

/** A server that says no has begun nothing; of one that trips, nobody knows, and it is looked up. */
async function afterFailure(
  beginning: StreamedBeginning,
  failure: AcpFailure,
): Promise<AcpOutcome<BegunRun> | undefined> {
  const { status } = failure;
  // The fault of the run itself is said again by the plainer call.
  if (status !== 422) remember(beginning.client, failure);
  if (status !== undefined && status >= 400 && status < 500) return undefined;
  const upstreamRunId = await findRun(beginning, STOPPED);
  if (upstreamRunId !== undefined) return { kind: "ok", value: { upstreamRunId } };
  return status !== undefined && status >= 500 ? undefined : failure;
}

/** The server's id of the run, by whichever way tells it first. */
async function nameOf(
  stream: RunStream,
  beginning: StreamedBeginning,
): Promise<string | undefined> {
  return within({ signals: [beginning.signal] }, async (signal) => {
    const looking = new AbortController();
    const end = (): void => looking.abort();
    signal.addEventListener("abort", end, { once: true });
    const looked = lookFor({ ...beginning, signal: looking.signal });
    try {
      const first = await Promise.race([stream.runId, looked]);
      if (first !== undefined || signal.aborted) return first;
    } finally {
      end();
    }
    return findRun({ ...beginning, signal }, STOPPED);
  });
}

/** Looks among the runs that are under way; undefined only when it is ended. */
async function lookFor(beginning: StreamedBeginning): Promise<string | undefined> {
  const { signal, patience } = beginning;
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, patience.waitMs)) {
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return undefined;
    const found = await findRun(beginning, ["pending"]);
    if (found !== undefined) return found;
  }
}

async function findRun(
  { client, creation, marker: [name, value], signal }: StreamedBeginning,
  statuses: readonly AcpRunStatus[],
): Promise<string | undefined> {
  for (const status of statuses) {
    const runs = await client.searchRuns(creation.agentId, status, signal);
    if (runs.kind === "failed") continue;
    const found = runs.value.find(({ metadata }) => metadata[name] === value);
    if (found !== undefined) return found.runId;
  }
  return undefined;
}
