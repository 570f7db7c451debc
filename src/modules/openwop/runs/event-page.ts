/** A page of a run's log, behind a sequence: bounded in number and in octets. */
import type { Ends } from "../../../base/deadline.ts";
import { isOver } from "./run.ts";
import type { RunEvent } from "./run-event.ts";
import type { RunHost } from "./run-host.ts";
import type { RunLog } from "./run-log.ts";

/** Events, and whether there will be more. */
interface EventPage {
  readonly events: readonly RunEvent[];
  readonly isComplete: boolean;
}

const MAX_EVENTS = 1000;
const MAX_BYTES = 8 * 1_048_576;
const READ_AT_ONCE = 100;

/** The events behind a sequence, as far as one answer goes. */
export async function readPage(host: RunHost, log: RunLog, after: number): Promise<EventPage> {
  const { runId } = log.run;
  const events: RunEvent[] = [];
  let bytes = 0;
  let last = after;
  while (events.length < MAX_EVENTS && bytes < MAX_BYTES) {
    const page = await host.events(runId, last, READ_AT_ONCE);
    for (const event of page) {
      bytes += Buffer.byteLength(JSON.stringify(event));
      if (bytes > MAX_BYTES && events.length > 0) break;
      events.push(event);
    }
    last = events.at(-1)?.sequence ?? last;
    if (page.length < READ_AT_ONCE) break;
  }
  const { status, nextSequence } = log.state;
  return { events, isComplete: isOver(status) && last >= nextSequence - 1 };
}

/** Reads a page once there is something, or the wait is ended. */
export async function awaitPage(
  host: RunHost,
  log: RunLog,
  after: number,
  wait: Ends,
): Promise<EventPage> {
  await log.changed(after, wait);
  return readPage(host, log, after);
}
