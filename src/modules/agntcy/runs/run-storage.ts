/** What runs came to and what happened in them, as it lies in the store beside them. */
import { isRecord } from "../../../base/json-value.ts";
import type { Attachment } from "../../../state/collection-view.ts";
import type { Change, Store } from "../../../state/store.ts";
import { recordReader } from "../../../state/stored-record.ts";
import type { AgentRun, RunEvent, RunResult } from "./run.ts";

const RESULTS = "agntcy-run-results";
const EVENTS = "agntcy-run-events";

/** What a run came to. */
export async function readResult(store: Store, runId: string): Promise<RunResult> {
  const value = await store.get(RESULTS, runId);
  return isRecord(value) ? value : {};
}

/** Some events of a run, those behind a number. */
export async function readEvents(
  store: Store,
  runId: string,
  after: number,
  limit: number,
): Promise<readonly RunEvent[]> {
  const range = { prefix: `${runId}/`, after: eventKey(runId, after), limit };
  const entries = await store.list(EVENTS, range);
  return entries.flatMap(({ value }) => readEvent(value) ?? []);
}

/** Keeps what it came to. */
export function putResult(runId: string, result: RunResult): Change {
  return { kind: "put", collection: RESULTS, key: runId, value: result };
}

/** Keeps an event; events count from 1. */
export function putEvent(runId: string, sequence: number, event: RunEvent): Change {
  return { kind: "put", collection: EVENTS, key: eventKey(runId, sequence), value: event };
}

/** What lies beside a run: what it came to, and its events. */
export function attachedTo({ runId, eventCount }: AgentRun): readonly Attachment[] {
  const events = Array.from({ length: eventCount }, (_, at) => {
    return { collection: EVENTS, key: eventKey(runId, at + 1) };
  });
  return [{ collection: RESULTS, key: runId }, ...events];
}

function eventKey(runId: string, sequence: number): string {
  return `${runId}/${String(sequence).padStart(8, "0")}`;
}

/** What this server stored itself; anything else is no run. */
export const readRun: (value: unknown) => AgentRun | undefined = recordReader<AgentRun>({
  ...{ runId: "string", base: "string", owner: "string", status: "string" },
  ...{ upstreamAgentId: "string", upstreamRunId: "string" },
  ...{ startedAt: "number", updatedAt: "number", deadlineAt: "number" },
  ...{ eventCount: "number", eventBytes: "number" },
});

const readEvent = recordReader<RunEvent>({ type: "string" });
