/** The whole log of a run, a page at a time. */
import type { NumberedEvent } from "./run-kind.ts";

/** The place where events are read. */
export interface EventSource<Event> {
  /** Events behind a number, in order. */
  events(runId: string, after: number, limit: number): Promise<readonly Event[]>;
}

const PAGE = 500;

/** The events behind a number, in order. */
export async function* readEvents<Event extends NumberedEvent>(
  source: EventSource<Event>,
  runId: string,
  after: number,
): AsyncGenerator<Event> {
  for (let last = after; ; ) {
    const page = await source.events(runId, last, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    last = page.at(-1)?.sequence ?? last;
  }
}
