/**
 * Runs as they lie in the store: what was asked for, the log, and a short entry of each by which the
 * unfinished ones are found again. Events are keyed by run and sequence, so a log is a range.
 */
import { isRecord } from "../../../base/json-value.ts";
import { readAll } from "../../../state/read-all.ts";
import type { Change, Store } from "../../../state/store.ts";
import type { PauseRequest } from "./pause-request.ts";
import { isOver, type Run, type RunStatus } from "./run.ts";
import type { RunEvent } from "./run-event.ts";

/** What is known of every run without reading it. */
export interface RunEntry {
  readonly runId: string;
  readonly tenant: string;
  readonly principal: string;
  readonly workflowId: string;
  readonly status: RunStatus;
  /** What the run was said to be about. */
  readonly scopeId?: string;
  /** The run that it was begun by. */
  readonly parentRunId?: string;
  /** The run that all of them were begun for. */
  readonly rootRunId?: string;
  /** It is to be paused behind the node that is executed. */
  readonly pause?: PauseRequest;
  readonly createdAt: number;
  /** Milliseconds since the epoch; undefined: it is not over. */
  readonly endedAt?: number;
}

const RUNS = "openwop-runs";
const ENTRIES = "openwop-run-entries";
const EVENTS = "openwop-run-events";
/** What an interrupted turn comes to if the word is yes: not for the log, which everybody reads. */
const HELD = "openwop-held-results";
/** What nodes of the public suite did. */
export const EFFECTS = "openwop-effects";
/** Runs that are deleted, and whose logs may not be yet. */
const DOOMED = "openwop-doomed-runs";
const READ_AT_ONCE = 500;
/** Sequences sort as text. */
const SEQUENCE_DIGITS = 8;

/** Keeps what was asked for. */
export function putRun(run: Run): Change {
  return { kind: "put", collection: RUNS, key: run.runId, value: run };
}

/** Keeps where a run stands. */
export function putEntry(entry: RunEntry): Change {
  return { kind: "put", collection: ENTRIES, key: entry.runId, value: entry };
}

/** Keeps an event. */
export function putEvent(event: RunEvent): Change {
  const key = eventKey(event.runId, event.sequence);
  return { kind: "put", collection: EVENTS, key, value: event };
}

/** Keeps the result that waits for a word. */
export function putHeld(runId: string, nodeId: string, result: unknown): Change {
  return {
    kind: "put",
    collection: HELD,
    key: `${runId}/${nodeId}`,
    value: { result: result ?? null },
  };
}

/** Reads what `putRun` kept. */
export async function readRun(store: Store, runId: string): Promise<Run | undefined> {
  const value = await store.get(RUNS, runId);
  return isRecord(value) ? (value as unknown as Run) : undefined;
}

/** The result that waits for a word. */
export async function readHeld(store: Store, runId: string, nodeId: string): Promise<unknown> {
  const value = await store.get(HELD, `${runId}/${nodeId}`);
  return isRecord(value) ? value["result"] : undefined;
}

/** Events behind a sequence, in order. */
export async function readEvents(
  store: Store,
  runId: string,
  after: number,
  limit: number,
): Promise<readonly RunEvent[]> {
  const range = { prefix: `${runId}/`, limit };
  const entries = await store.list(
    EVENTS,
    after < 0 ? range : { ...range, after: eventKey(runId, after) },
  );
  return entries.map(({ value }) => value as RunEvent);
}

/** Every entry that an earlier process kept. */
export async function readEntries(store: Store): Promise<readonly RunEntry[]> {
  const entries: RunEntry[] = [];
  for await (const { value } of readAll(store, ENTRIES)) {
    if (isRecord(value)) entries.push(value as unknown as RunEntry);
  }
  return entries;
}

/** Deletes a run: it is gone at once, and its log for good even if the process ends before. */
export async function deleteRun(store: Store, runId: string): Promise<void> {
  await store.commit([
    { kind: "delete", collection: RUNS, key: runId },
    { kind: "delete", collection: ENTRIES, key: runId },
    { kind: "put", collection: DOOMED, key: runId, value: true },
  ]);
  await deleteEvents(store, runId);
}

/** Runs that are deleted, and whose logs are not yet. */
export async function readDoomed(store: Store): Promise<readonly string[]> {
  return (await store.list(DOOMED)).map(({ key }) => key);
}

/** Deletes the log of a run that is gone. */
export async function deleteEvents(store: Store, runId: string): Promise<void> {
  for (const collection of [EVENTS, HELD, EFFECTS]) {
    for (;;) {
      const page = await store.list(collection, { prefix: `${runId}/`, limit: READ_AT_ONCE });
      if (page.length === 0) break;
      await store.commit(page.map(({ key }) => ({ kind: "delete", collection, key })));
    }
  }
  await store.commit([{ kind: "delete", collection: DOOMED, key: runId }]);
}

/** The entry of a run that has come to a status. */
export function entryOf(run: Run, status: RunStatus, now: number): RunEntry {
  const { runId, owner, workflow, createdAt, scopeId, parent } = run;
  return {
    ...{ runId, tenant: owner.tenant, principal: owner.principal, workflowId: workflow.id },
    ...{ status, createdAt, ...(isOver(status) ? { endedAt: now } : {}) },
    ...(scopeId === undefined ? {} : { scopeId }),
    ...(parent && { parentRunId: parent.runId, rootRunId: parent.rootRunId }),
  };
}

function eventKey(runId: string, sequence: number): string {
  return `${runId}/${String(sequence).padStart(SEQUENCE_DIGITS, "0")}`;
}
