/**
 * Begins a run at an agent's server and returns the server's id of it. Current servers cannot create a run on a thread
 * without waiting for it, and return no id when it is interrupted: there the run is created by waiting, and found among
 * the thread's by this server's id in its metadata. Other runs are streamed from their creation, as a later listener
 * would miss an agent's first events. The server names such a run in its stream or, before that, in its list of runs;
 * servers without that list are not used so.   Agent Connect Protocol "Create a stateless run and stream its output"
 */
import { setTimeout as delay } from "node:timers/promises";
import { Deadline } from "../../../base/deadline.ts";
import type { AcpOutcome, AcpRunStatus } from "../acp/acp-answers.ts";
import { type AcpFailure, type AcpResponse, isFailure, malformed } from "../acp/acp-call.ts";
import type { AcpClient, RunCreation } from "../acp/acp-client.ts";
import { FAILURES_MS, PENDING_MS, WAIT_MS } from "./await-verdict.ts";
import { RunStream } from "./run-stream.ts";

/** The metadata member with this server's id of a run. */
const RUN_ID_MEMBER = "agtp_run_id";

/** The delays of final lookups: after a failure, the run may be listed late. */
const LAST_LOOKS_MS = [0, 250, 500];

interface Beginning {
  readonly client: AcpClient;
  readonly creation: RunCreation;
  /** True if the agent streams events. */
  readonly isStreaming: boolean;
  /** This server's id of the run. */
  readonly runId: string;
  /** The signal of the caller that waits for the beginning. */
  readonly signal: AbortSignal;
  /** The bound on a server that answers only when the run is over, and the signal that ends the call. */
  readonly timeoutMs: number;
  readonly closing: AbortSignal;
}

/** Begins the run. */
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
  // A failing server may have created the run, which must not be created twice.
  const begun = await findOnThread(beginning, threadId, [0]);
  return begun ?? beginByWaiting(beginning, { ...creation, threadId });
}

/** Tells whether the server lacks the call or fails on it. */
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
  // This continues until the run is over, even if the run is found first.
  const waited = client.runOnThread(creation, timeoutMs, closing).then(async (answer) => {
    if (answer.kind === "ok") {
      const { run } = answer.value;
      return run === undefined ? malformed("names no run") : idOf(run.runId);
    }
    // Some servers fail on interrupted runs; the run exists, and may be listed late.
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

/** Looks until the run is listed; a server without the list may still answer when it is over. */
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

/** Looks after each pause; undefined if not found or aborted. */
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

/** A run that has begun. */
export interface BegunRun {
  /** The server's id of the run. */
  readonly upstreamRunId: string;
  /** Undefined if it was not streamed from the beginning. */
  readonly stream?: RunStream;
}

/** The delay of the first lookup, as most agents say something sooner. */
const FIRST_LOOK_MS = 50;
/** The statuses to search if a stream ended without naming its run. */
const STOPPED: readonly AcpRunStatus[] = ["interrupted", "success", "error", "timeout", "pending"];
/** Statuses of a missing call; others may be temporary. */
const UNABLE: ReadonlySet<number> = new Set([400, 404, 405, 422, 500, 501]);

/** Begins the run by streaming; undefined if the server cannot and nothing has begun. */
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
  // Looks the run up meanwhile, as some servers send nothing before the agent does.
  const looked = lookFor({ ...beginning, signal: looking.signal });
  try {
    await Promise.race([stream.opened, looked]);
    // The closed stream reports why it did not open.
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

/** A refusal (4xx) means that nothing has begun; after other failures the run is looked up. */
async function afterFailure(
  beginning: Beginning,
  failure: AcpFailure,
): Promise<AcpOutcome<BegunRun> | undefined> {
  const { status } = failure;
  // With 422 the run itself is at fault, as the plain call will show.
  if (status !== 422) remember(beginning.client, failure);
  if (status !== undefined && status >= 400 && status < 500) return undefined;
  const upstreamRunId = await findRun(beginning, STOPPED);
  if (upstreamRunId !== undefined) return { kind: "ok", value: { upstreamRunId } };
  return status !== undefined && status >= 500 ? undefined : failure;
}

/** The server's id of the run, from the stream or the lookup, whichever is first. */
async function nameOf(
  stream: RunStream,
  looked: Promise<string | undefined>,
  beginning: Beginning,
): Promise<string | undefined> {
  const first = await Promise.race([stream.runId, looked]);
  return first === undefined && !beginning.signal.aborted ? findRun(beginning, STOPPED) : first;
}

/** Searches pending runs, then those of every status; undefined only if aborted. */
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
 * Finds the server's id of the run. Several statuses are searched twice, as a run may change status between searches.
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
