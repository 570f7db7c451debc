/**
 * Keeps which entries have a word, in which fields, and how much that tells: one row for a word of
 * an entry, in arrays of numbers, so that millions of them take little memory and nothing is
 * collected.
 */
import type { Paced } from "../../base/paced.ts";

/** The rows of a part: growing adds one, and copies none. */
const PART_ROWS = 8192;

/** Rows by word, once they are complete. */
export interface Postings {
  /** The rows of a word are those from here to before the next one's. */
  startOf(word: number): number;
  readonly entries: Uint32Array;
  /** One bit a field. */
  readonly fields: Uint8Array;
  /** The part of the score that it adds. */
  readonly impacts: Float32Array;
}

/** Some rows, in the order in which they came. */
class Part {
  readonly words = new Uint32Array(PART_ROWS);
  readonly entries = new Uint32Array(PART_ROWS);
  readonly fields = new Uint8Array(PART_ROWS);
  readonly impacts = new Float32Array(PART_ROWS);
  count = 0;
}

/** Takes rows in any order. */
export class PostingsBuilder {
  #last = new Part();
  readonly #parts: Part[] = [this.#last];
  #count = 0;

  add(word: number, entry: number, fields: number, impact: number): void {
    if (this.#last.count === PART_ROWS) {
      this.#last = new Part();
      this.#parts.push(this.#last);
    }
    const part = this.#last;
    part.words[part.count] = word;
    part.entries[part.count] = entry;
    part.fields[part.count] = fields;
    part.impacts[part.count] = impact;
    part.count += 1;
    this.#count += 1;
  }

  /** Sorts the rows by word; of one word they stay in their order. */
  *complete(wordCount: number): Paced<Postings> {
    const starts = new Uint32Array(wordCount + 1);
    for (const { words, count } of this.#parts) {
      for (let at = 0; at < count; at += 1) {
        const after = (words[at] ?? 0) + 1;
        starts[after] = (starts[after] ?? 0) + 1;
      }
      yield;
    }
    for (let word = 0; word < wordCount; word += 1) {
      starts[word + 1] = (starts[word + 1] ?? 0) + (starts[word] ?? 0);
    }
    const next = starts.slice();
    const entries = new Uint32Array(this.#count);
    const fields = new Uint8Array(this.#count);
    const impacts = new Float32Array(this.#count);
    for (const part of this.#parts) {
      for (let at = 0; at < part.count; at += 1) {
        const word = part.words[at] ?? 0;
        const place = next[word] ?? 0;
        next[word] = place + 1;
        entries[place] = part.entries[at] ?? 0;
        fields[place] = part.fields[at] ?? 0;
        impacts[place] = part.impacts[at] ?? 0;
      }
      yield;
    }
    return { startOf: (word) => starts[word] ?? 0, entries, fields, impacts };
  }
}
