/**
 * The finished segments of a journal: their indexes and descriptions are written in the background, and records are
 * found by the indexes.   AGTP-IDENTIFIERS "Audit Log"
 */
import { codeOf } from "../../base/thrown.ts";
import type { RecordPlace } from "./journal.ts";
import { RecordPlaces, readPlaces } from "./record-places.ts";
import { type ActiveSegment, type Extent, segmentName } from "./segment.ts";
import { findInIndex, writeIndex } from "./segment-index.ts";
import { describeSegments, type FinishedSegment, forgetSegments } from "./segment-manifest.ts";

export class FinishedSegments {
  readonly #directory: string;
  readonly #onFault: (error: unknown) => void;
  /** In order. */
  #numbers: readonly number[];
  /** Segments whose index is being written. */
  readonly #finishing = new Map<number, RecordPlaces>();
  /** Segments being read to rebuild a missing index. */
  readonly #indexing = new Map<number, Promise<RecordPlaces>>();
  #work: Promise<void> = Promise.resolve();
  /** A discarded table, reused for the next segment. */
  #spare: RecordPlaces | undefined;

  /** `onFault` is called with background faults; everything written there can be rebuilt. */
  constructor(directory: string, numbers: readonly number[], onFault: (error: unknown) => void) {
    this.#directory = directory;
    this.#numbers = [...numbers];
    this.#onFault = onFault;
    // A killed process may have left some undescribed.
    const finished = numbers.map((number) => ({ number }));
    this.#beside(() => describeSegments(directory, finished));
  }

  get numbers(): readonly number[] {
    return this.#numbers;
  }

  /** Takes over a finished segment, with the places of its records. */
  add(segment: ActiveSegment, records: RecordPlaces): void {
    const { number } = segment;
    this.#numbers = [...this.#numbers, number];
    this.#finishing.set(number, records);
    this.#beside(() => this.#complete(segment, { number, records }));
  }

  /** Returns an empty table for a new segment. */
  makePlaces(): RecordPlaces {
    const places = this.#spare ?? new RecordPlaces();
    this.#spare = undefined;
    return places;
  }

  /** Forgets removed segments. */
  remove(numbers: readonly number[]): void {
    const gone = new Set(numbers);
    this.#numbers = this.#numbers.filter((number) => !gone.has(number));
    this.#beside(() => forgetSegments(this.#directory, numbers.map(segmentName)));
  }

  /** Finds a record's place, newest segment first. */
  async locate(auditId: string): Promise<RecordPlace | undefined> {
    for (const segment of this.#numbers.toReversed()) {
      const extent = await this.#findIn(segment, auditId);
      if (extent !== undefined) return { segment, ...extent };
    }
    return undefined;
  }

  /** Resolves once background work is done. */
  settled(): Promise<void> {
    return this.#work;
  }

  async #complete(segment: ActiveSegment, finished: Required<FinishedSegment>): Promise<void> {
    const { number, records } = finished;
    // A failed sync was reported already, and another try would only seem to succeed.
    if (!segment.hasFailedSync) await segment.sync().catch((error) => this.#onFault(error));
    await segment.close();
    await writeIndex(this.#directory, number, records).finally(() => {
      this.#finishing.delete(number);
    });
    await describeSegments(this.#directory, [finished]);
    records.clear();
    this.#spare = records;
  }

  async #findIn(number: number, auditId: string): Promise<Extent | undefined> {
    const records = this.#finishing.get(number);
    if (records !== undefined) return records.find(auditId);
    const found = await findInIndex(this.#directory, number, auditId);
    return found === "no-index" ? (await this.#index(number)).find(auditId) : found;
  }

  /** Rebuilds an index, once for concurrent callers. */
  #index(number: number): Promise<RecordPlaces> {
    const running = this.#indexing.get(number);
    if (running !== undefined) return running;
    const indexing = this.#makeIndex(number).finally(() => this.#indexing.delete(number));
    this.#indexing.set(number, indexing);
    return indexing;
  }

  async #makeIndex(number: number): Promise<RecordPlaces> {
    try {
      const records = await readPlaces(this.#directory, number);
      await writeIndex(this.#directory, number, records).catch((error) => this.#onFault(error));
      return records;
    } catch (error) {
      // Retention may remove segments while the server runs.
      if (codeOf(error) === "ENOENT") return new RecordPlaces();
      throw error;
    }
  }

  /** Runs background work, one piece after another. */
  #beside(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => this.#onFault(error));
  }
}
