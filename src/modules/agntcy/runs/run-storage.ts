/** Runs, what they came to and what happened in them, as they lie in the store. */
import { isRecord } from "../../../base/json-value.ts";
import { readAll } from "../../../state/read-all.ts";
import type { Change, Store } from "../../../state/store.ts";
import type { AgentRun, RunEvent, RunResult } from "./run.ts";

const RUNS = "agntcy-runs";
const RESULTS = "agntcy-run-results";
const EVENTS = "agntcy-run-events";

/** Every run that an earlier process kept, the oldest first. */
export async function readRuns(store: Store): Promise<readonly AgentRun[]> {
  const runs: AgentRun[] = [];
  for await (const { value } of readAll(store, RUNS)) if (isRun(value)) runs.push(value);
  return runs.toSorted((left, right) => left.startedAt - right.startedAt);
}

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
  return entries.flatMap(({ value }) => (isEvent(value) ? [value] : []));
}

/** Keeps a run as it is now. */
export function putRun(run: AgentRun): Change {
  return { kind: "put", collection: RUNS, key: run.runId, value: run };
}

/** Keeps what it came to. */
export function putResult(runId: string, result: RunResult): Change {
  return { kind: "put", collection: RESULTS, key: runId, value: result };
}

/** Keeps an event; events count from 1. */
export function putEvent(runId: string, sequence: number, event: RunEvent): Change {
  return { kind: "put", collection: EVENTS, key: eventKey(runId, sequence), value: event };
}

/** Forgets a run and all that belongs to it. */
export function deleteRun({ runId, eventCount }: AgentRun): readonly Change[] {
  const events = Array.from({ length: eventCount }, (_, at): Change => {
    return { kind: "delete", collection: EVENTS, key: eventKey(runId, at + 1) };
  });
  return [
    { kind: "delete", collection: RUNS, key: runId },
    { kind: "delete", collection: RESULTS, key: runId },
    ...events,
  ];
}

function eventKey(runId: string, sequence: number): string {
  return `${runId}/${String(sequence).padStart(8, "0")}`;
}

/** What this server stored itself; anything else is no run. */
function isRun(value: unknown): value is AgentRun {
  if (!isRecord(value)) return false;
  const texts = ["runId", "base", "owner", "upstreamAgentId", "upstreamRunId", "status"];
  const numbers = ["startedAt", "updatedAt", "deadlineAt", "eventCount", "eventBytes"];
  return (
    texts.every((name) => typeof value[name] === "string") &&
    numbers.every((name) => typeof value[name] === "number")
  );
}

function isEvent(value: unknown): value is RunEvent {
  return isRecord(value) && typeof value["type"] === "string";
}
