/**
 * The numbered events of runs, each under its run and number, so that the log of a run is a range. A
 * run is gone at once; its log may be long: it is read page by page, and goes so, even if the process
 * ends meanwhile.
 */
import { isRecord } from "../base/json-value.ts";
import { Turns } from "../base/turns.ts";
import { type Change, readAll, type Store } from "../state/store.ts";
import type { LogPlaces, NumberedEvent } from "./run-kind.ts";

const DELETED_AT_ONCE = 500;
/** Numbers sort as text. */
const DIGITS = 8;

export class EventLog<Event extends NumberedEvent> {
  readonly #store: Store;
  readonly #places: LogPlaces;
  readonly #clearings = new Turns();

  constructor(store: Store, places: LogPlaces) {
    this.#store = store;
    this.#places = places;
  }

  put(runId: string, event: Event): Change {
    const key = eventKey(runId, event.sequence);
    return { kind: "put", collection: this.#places.events, key, value: event };
  }

  /** Events behind a number, in order. */
  async read(runId: string, after: number, limit: number): Promise<readonly Event[]> {
    const entries = await this.#store.list(this.#places.events, {
      ...{ prefix: `${runId}/`, limit },
      ...(after < 0 ? {} : { after: eventKey(runId, after) }),
    });
    return entries.flatMap(({ value }) => (isRecord(value) ? [value as unknown as Event] : []));
  }

  /** Belongs to the commit that deletes a run. */
  doom(runId: string): Change {
    return { kind: "put", collection: this.#places.doomed, key: runId, value: true };
  }

  /** Deletes the logs of the runs that were deleted. */
  clear(): Promise<void> {
    return this.#clearings.run(() => this.#clear());
  }

  async #clear(): Promise<void> {
    const { events, beside = [], doomed } = this.#places;
    for await (const { key: runId } of readAll(this.#store, doomed)) {
      for (const collection of [events, ...beside]) await this.#delete(collection, `${runId}/`);
      await this.#store.commit([{ kind: "delete", collection: doomed, key: runId }]);
    }
  }

  async #delete(collection: string, prefix: string): Promise<void> {
    for (;;) {
      const page = await this.#store.list(collection, { prefix, limit: DELETED_AT_ONCE });
      if (page.length === 0) return;
      await this.#store.commit(page.map(({ key }) => ({ kind: "delete", collection, key })));
    }
  }
}

function eventKey(runId: string, sequence: number): string {
  return `${runId}/${String(sequence).padStart(DIGITS, "0")}`;
}

/** The place where events are read. */
interface EventSource<Event> {
  /** Events behind a number, in order. */
  events(runId: string, after: number, limit: number): Promise<readonly Event[]>;
}

const PAGE = 500;

/** The events of a run, in order. */
export async function* readEvents<Event extends NumberedEvent>(
  source: EventSource<Event>,
  runId: string,
): AsyncGenerator<Event> {
  for (let last = -1; ; ) {
    const page = await source.events(runId, last, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    last = page.at(-1)?.sequence ?? last;
  }
}
