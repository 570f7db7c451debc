/**
 * Stores the numbered events of runs under run id and number, so that the log of a run is one key range. Deleting a
 * run is one commit; its log may be long and is deleted page by page afterwards, resumed at the next start if the
 * process ends.
 */
import { isRecord } from "../base/json-value.ts";
import { Turns } from "../base/turns.ts";
import { type Change, readAll, type Store } from "../state/store.ts";
import type { LogPlaces, NumberedEvent } from "./run-kind.ts";

const DELETED_AT_ONCE = 500;
/** Sequence numbers are zero-padded so that they sort as text. */
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

  /** Returns up to `limit` events after a sequence number, in order. */
  async read(runId: string, after: number, limit: number): Promise<readonly Event[]> {
    const entries = await this.#store.list(this.#places.events, {
      ...{ prefix: `${runId}/`, limit },
      ...(after < 0 ? {} : { after: eventKey(runId, after) }),
    });
    return entries.flatMap(({ value }) => (isRecord(value) ? [value as unknown as Event] : []));
  }

  /** Marks the log for deletion, in the commit that deletes its run. */
  doom(runId: string): Change {
    return { kind: "put", collection: this.#places.doomed, key: runId, value: true };
  }

  /** Deletes the logs of deleted runs. */
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

/** A reader of the events of runs. */
interface EventSource<Event> {
  /** Returns up to `limit` events after a sequence number, in order. */
  events(runId: string, after: number, limit: number): Promise<readonly Event[]>;
}

const PAGE = 500;

/** Yields the events of a run in order, page by page. */
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
