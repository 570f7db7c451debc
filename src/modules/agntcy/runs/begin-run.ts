/**
 * Begins a run with an agent's server, and answers its id there. Servers of today cannot create a run
 * on a thread without waiting for it, and answer no id when it stops to ask: there the run is begun
 * by waiting, and found among the thread's by this server's own id, which every run carries.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Deadline } from "../../../base/deadline.ts";
import type { AcpOutcome } from "../acp/acp-answers.ts";
import { type AcpFailure, malformed } from "../acp/acp-call.ts";
import type { AcpClient } from "../acp/acp-client.ts";
import type { RunCreation } from "../acp/run-creation.ts";
import type { Patience } from "./await-verdict.ts";
import { type BegunRun, beginByStreaming } from "./begin-by-streaming.ts";

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
  readonly patience: Patience;
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
    const streamed = await beginByStreaming({
      ...beginning,
      creation,
      marker: [RUN_ID_MEMBER, runId],
    });
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
  const { failuresMs, pendingMs } = beginning.patience;
  let pausesMs = failuresMs;
  while (!beginning.signal.aborted) {
    const begun = await findOnThread(beginning, threadId, pausesMs);
    if (begun !== undefined) return begun;
    pausesMs = [Math.max(pendingMs, ...failuresMs)];
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
