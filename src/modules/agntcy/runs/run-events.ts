/** How much of what happens in a run is kept: a bounded number of events of bounded size. */
import type { Change } from "../../../state/store.ts";
import type { AgentRun, RunEvent } from "./run.ts";
import { putEvent } from "./run-storage.ts";

const MAX_EVENTS = 1000;
const MAX_EVENTS_BYTES = 1_048_576;
const MAX_EVENT_BYTES = 65_536;

/** What is told of how a run stands now. */
export function statusEvent({ status, updatedAt, error }: Partial<AgentRun>): RunEvent {
  const at = new Date(updatedAt ?? 0).toISOString();
  return { type: "status", status, ...(error === undefined ? {} : { code: error.code }), at };
}

/** The run with more events, and what keeps those of them that there is room for. */
export function withEvents(
  run: AgentRun,
  told: readonly RunEvent[],
): { readonly run: AgentRun; readonly events: readonly Change[] } {
  let { eventCount, eventBytes, isTruncated } = run;
  const events = told.flatMap((event) => {
    const bytes = sizeOf(event);
    const isFull = eventCount >= MAX_EVENTS || eventBytes + bytes > MAX_EVENTS_BYTES;
    // How the run stands is small, and said however much else there was; within reason.
    if (isFull && (event.type !== "status" || eventCount >= 2 * MAX_EVENTS)) {
      isTruncated = true;
      return [];
    }
    eventCount += 1;
    eventBytes += bytes;
    return [putEvent(run.runId, eventCount, { sequence: eventCount, ...event })];
  });
  return { run: { ...run, eventCount, eventBytes, isTruncated }, events };
}

/** The event, or that there was one which is too large to be kept. */
export function fitEvent(event: RunEvent): RunEvent {
  const bytes = sizeOf(event);
  if (bytes <= MAX_EVENT_BYTES) return event;
  return { type: event.type, at: event["at"], omitted: true, bytes };
}

/** What a value takes in the store. */
export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
