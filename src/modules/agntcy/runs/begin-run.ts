/**
 * Begins a run with an agent's server, and answers its id there. Servers of today cannot create a run
 * on a thread without waiting for it, and answer no id when it stops to ask: there the run is begun
 * by waiting, and found among the thread's by this server's own id, which every run carries. Elsewhere
 * the call that creates a run streams it at once: whoever listens a moment later has missed what an agent
 * says first. Its server names the run in what it streams, and where it streams nothing yet, among the
 * runs that it can be asked for; one that cannot be asked is not begun so.
 * Agent Connect Protocol "Create a stateless run and stream its output"
 */
import { setTimeout as delay } from "node:timers/promises";
import { Deadline } from "../../../base/deadline.ts";
import type { AcpOutcome, AcpRunStatus } from "../acp/acp-answers.ts";
import { type AcpFailure, type AcpResponse, isFailure, malformed } from "../acp/acp-call.ts";
import type { AcpClient, RunCreation } from "../acp/acp-client.ts";
import { FAILURES_MS, PENDING_MS, WAIT_MS } from "./await-verdict.ts";
import { RunStream } from "./run-stream.ts";

/** The member of a run's metadata that holds this server's id of it. */
const RUN_ID_MEMBER = "agtp_run_id";

/** After a call that failed: the run may come into its server's list a moment later. */
const LAST_LOOKS_MS = [0, 250, 500];

interface Beginning {
  readonly client: AcpClient;
  readonly creation: RunCreation;
  /** True if the agent tells what happens in its runs. */
  readonly isStreaming: boolean;
  /** This server's id of the run. */
  readonly runId: string;
  /** Of whoever waits for the beginning. */
  readonly signal: AbortSignal;
  /**
   * The longest that a server may take which answers only when the run is over, and the signal that
   * ends it.
   */
  readonly timeoutMs: number;
  readonly closing: AbortSignal;
}

/** Begins it. */
export async function beginRun(beginning: Beginning): Promise<AcpOutcome<BegunRun>> {
  const { runId, isStreaming } = beginning;
  const metadata = { ...beginning.creation.metadata, [RUN_ID_MEMBER]: runId };
  const creation = { ...beginning.creation, metadata };
  if (isStreaming && creation.threadId === undefined) {
    const streamed = await beginByStreaming({ ...beginning, creation });
    if (streamed !== undefined) return streamed;
  }
  const begun = await begin({ ...beginning, creation });
  return begun.kind === "ok" ? { kind: "ok", value: { upstreamRunId: begun.value } } : begun;
}

async function begin(beginning: Beginning): Promise<AcpOutcome<string>> {
  const { client, signal, creation } = beginning;
  const created = await client.createRun(creation, signal);
  if (created.kind === "ok") return idOf(created.value.runId);
  const { threadId } = creation;
  if (threadId === undefined || !isUnable(created)) return created;
  // A server that fails may have begun it all the same: twice would be worse than not at all.
  const begun = await findOnThread(beginning, threadId, [0]);
  return begun ?? beginByWaiting(beginning, { ...creation, threadId });
}

/** The server has no such call, or trips over it. */
function isUnable({ status = 0 }: AcpFailure): boolean {
  return status >= 500 || status === 405;
}

async function beginByWaiting(
  beginning: Beginning,
  creation: RunCreation & { readonly threadId: string },
): Promise<AcpOutcome<string>> {
  const { client, timeoutMs, closing } = beginning;
  const { threadId } = creation;
  const looking = new Deadline({ signals: [beginning.signal] });
  // Where the run is found first, this goes on until it is over, and nobody needs the answer.
  const waited = client.runOnThread(creation, timeoutMs, closing).then(async (answer) => {
    if (answer.kind === "ok") {
      const { run } = answer.value;
      return run === undefined ? malformed("names no run") : idOf(run.runId);
    }
    // Servers trip over runs that stop to ask; the run is there, if not in their list at once.
    return isUnable(answer)
      ? ((await findOnThread(beginning, threadId, LAST_LOOKS_MS)) ?? answer)
      : answer;
  });
  const found = keepLooking({ ...beginning, signal: looking.signal }, threadId);
  try {
    return await Promise.race([waited, found]);
  } finally {
    looking.abort();
  }
}

/** Looks until the run is there; a server that does not list it may still answer when it is over. */
async function keepLooking(beginning: Beginning, threadId: string): Promise<AcpOutcome<string>> {
  let pausesMs = FAILURES_MS;
  while (!beginning.signal.aborted) {
    const begun = await findOnThread(beginning, threadId, pausesMs);
    if (begun !== undefined) return begun;
    pausesMs = [Math.max(PENDING_MS, ...FAILURES_MS)];
  }
  return malformed("does not tell which run of the thread was begun");
}

function idOf(runId: string): AcpOutcome<string> {
  return { kind: "ok", value: runId };
}

/** Looks after each pause; undefined: it is not there, or nobody waits any more. */
async function findOnThread(
  { client, runId, signal }: Beginning,
  threadId: string,
  pausesMs: readonly number[],
): Promise<AcpOutcome<string> | undefined> {
  for (const pauseMs of pausesMs) {
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return undefined;
    const runs = await client.threadRuns(threadId, signal);
    if (runs.kind === "failed") continue;
    const found = runs.value.find(({ metadata }) => metadata[RUN_ID_MEMBER] === runId);
    if (found !== undefined) return idOf(found.runId);
  }
  return undefined;
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
async function beginByStreaming(beginning: Beginning): Promise<AcpOutcome<BegunRun> | undefined> {
  const { client, creation, signal } = beginning;
  if (!(await isAble(client, creation.agentId, signal))) return undefined;
  let failure: AcpFailure | undefined;
  const stream = new RunStream(client, async (closing) => {
    const answer: AcpResponse | AcpFailure = await client.streamNewRun(creation, WAIT_MS, closing);
    if (isFailure(answer)) failure = answer;
    return answer;
  });
  const leave = (): void => stream.close();
  signal.addEventListener("abort", leave, { once: true });
  const looking = new Deadline({ signals: [signal] });
  // Servers that send nothing before the agent says something are asked meanwhile.
  const looked = lookFor({ ...beginning, signal: looking.signal });
  try {
    await Promise.race([stream.opened, looked]);
    // Closed with the signal, it says why it was not opened.
    if (signal.aborted) await stream.opened;
    if (failure !== undefined) {
      looking.abort();
      return await afterFailure(beginning, failure);
    }
    const upstreamRunId = await nameOf(stream, looked, beginning);
    if (upstreamRunId !== undefined) return { kind: "ok", value: { upstreamRunId, stream } };
    stream.close();
    return malformed("does not tell which run was begun");
  } finally {
    looking.abort();
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
  beginning: Beginning,
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
  looked: Promise<string | undefined>,
  beginning: Beginning,
): Promise<string | undefined> {
  const first = await Promise.race([stream.runId, looked]);
  return first === undefined && !beginning.signal.aborted ? findRun(beginning, STOPPED) : first;
}

/** Looks among the runs that are under way, and then among all; undefined only when it is ended. */
async function lookFor(beginning: Beginning): Promise<string | undefined> {
  const { signal } = beginning;
  let statuses: readonly AcpRunStatus[] = ["pending"];
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, WAIT_MS)) {
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return undefined;
    const found = await findRun(beginning, statuses);
    if (found !== undefined) return found;
    statuses = STOPPED;
  }
}

/**
 * The server's id of the run; a run may go from one status to another between two questions, so all are asked twice.
 */
async function findRun(
  { client, creation, runId, signal }: Beginning,
  statuses: readonly AcpRunStatus[],
): Promise<string | undefined> {
  for (const status of statuses.length === 1 ? statuses : [...statuses, ...statuses]) {
    const runs = await client.searchRuns(creation.agentId, status, signal);
    if (runs.kind === "failed") continue;
    const found = runs.value.find(({ metadata }) => metadata[RUN_ID_MEMBER] === runId);
    if (found !== undefined) return found.runId;
  }
  return undefined;
}
