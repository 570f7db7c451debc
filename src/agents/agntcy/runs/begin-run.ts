/**
 * Begins a run with an agent's server, and answers its id there. Servers of today cannot create a run
 * on a thread without waiting for it, and answer no id when it stops to ask: there the run is begun
 * by waiting, and found among the thread's by this server's own id, which every run carries.
 */
import { type AcpFailure, malformed } from "../acp/acp-call.ts";
import type { AcpClient, AcpOutcome, RunCreation } from "../acp/acp-client.ts";
import { type Patience, pause } from "./await-verdict.ts";

/** The member of a run's metadata that holds this server's id of it. */
export const RUN_ID_MEMBER = "agtp_run_id";

/** How a run is begun. */
export interface Beginning {
  readonly client: AcpClient;
  readonly creation: RunCreation;
  /** This server's id of the run. */
  readonly runId: string;
  readonly patience: Patience;
  /** Of whoever waits for the beginning. */
  readonly signal: AbortSignal;
  /** How long a server may take that answers only when the run is over, and what ends that. */
  readonly timeoutMs: number;
  readonly closing: AbortSignal;
}

/** Begins it; answers the server's id of it. */
export async function beginRun(beginning: Beginning): Promise<AcpOutcome<string>> {
  const { client, signal, runId } = beginning;
  const metadata = { ...beginning.creation.metadata, [RUN_ID_MEMBER]: runId };
  const creation = { ...beginning.creation, metadata };
  const created = await client.createRun(creation, signal);
  if (created.kind === "ok") return { kind: "ok", value: created.value.runId };
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
  const { client, timeoutMs, closing, patience } = beginning;
  const looking = new AbortController();
  const waited = client.runOnThread(creation, timeoutMs, closing);
  const found = findOnThread(
    { ...beginning, signal: AbortSignal.any([beginning.signal, looking.signal]) },
    creation.threadId,
    patience.failuresMs,
  );
  const first = await Promise.race([waited, found.catch(() => undefined)]);
  if (typeof first === "object" && "value" in first && typeof first.value === "string") {
    // The request goes on until the run is over; nobody needs its answer any more.
    waited.catch(() => undefined);
    return { kind: "ok", value: first.value };
  }
  const answer = await waited;
  looking.abort();
  await found.catch(() => undefined);
  if (answer.kind === "ok" && answer.value.run !== undefined) {
    return { kind: "ok", value: answer.value.run.runId };
  }
  const failure = answer.kind === "ok" ? malformed("names no run") : answer;
  if (answer.kind === "failed" && !isUnable(answer)) return failure;
  // Servers trip over runs that stop to ask; the run is there.
  return (await findOnThread(beginning, creation.threadId, [0])) ?? failure;
}

/** Looks after each pause; undefined: it is not there. */
async function findOnThread(
  { client, runId, signal }: Beginning,
  threadId: string,
  pausesMs: readonly number[],
): Promise<AcpOutcome<string> | undefined> {
  for (const pauseMs of pausesMs) {
    if (pauseMs > 0) await pause(pauseMs, signal);
    const runs = await client.threadRuns(threadId, signal);
    if (runs.kind === "failed") continue;
    const found = runs.value.find(({ metadata }) => metadata[RUN_ID_MEMBER] === runId);
    if (found !== undefined) return { kind: "ok", value: found.runId };
  }
  return undefined;
}
