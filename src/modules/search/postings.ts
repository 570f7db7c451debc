/**
 * Which entries have a word, in which fields, and how much that tells: one row for a word of an entry,
 * in arrays of numbers, so that millions of them take little memory and nothing is collected.
 */
import type { Paced } from "../../base/paced.ts";

const FIRST_CAPACITY = 256;
const STEP = 8192;

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

/** Takes rows in any order. */
export class PostingsBuilder {
  #words = new Uint32Array(FIRST_CAPACITY);
  #entries = new Uint32Array(FIRST_CAPACITY);
  #fields = new Uint8Array(FIRST_CAPACITY);
  #impacts = new Float32Array(FIRST_CAPACITY);
  #count = 0;

  add(word: number, entry: number, fields: number, impact: number): void {
    if (this.#count === this.#words.length) this.#grow();
    const at = this.#count;
    this.#words[at] = word;
    this.#entries[at] = entry;
    this.#fields[at] = fields;
    this.#impacts[at] = impact;
    this.#count += 1;
  }

  #grow(): void {
    const capacity = 2 * this.#words.length;
    this.#words = grown(this.#words, new Uint32Array(capacity));
    this.#entries = grown(this.#entries, new Uint32Array(capacity));
    this.#fields = grown(this.#fields, new Uint8Array(capacity));
    this.#impacts = grown(this.#impacts, new Float32Array(capacity));
  }

  /** Sorts the rows by word; of one word they stay in their order. */
  *complete(wordCount: number): Paced<Postings> {
    const starts = new Uint32Array(wordCount + 1);
    for (let at = 0; at < this.#count; at += 1) {
      const after = (this.#words[at] ?? 0) + 1;
      starts[after] = (starts[after] ?? 0) + 1;
      if (at % STEP === 0) yield;
    }
    for (let word = 0; word < wordCount; word += 1) {
      starts[word + 1] = (starts[word + 1] ?? 0) + (starts[word] ?? 0);
    }
    const next = starts.slice();
    const entries = new Uint32Array(this.#count);
    const fields = new Uint8Array(this.#count);
    const impacts = new Float32Array(this.#count);
    for (let at = 0; at < this.#count; at += 1) {
      const word = this.#words[at] ?? 0;
      const place = next[word] ?? 0;
      next[word] = place + 1;
      entries[place] = this.#entries[at] ?? 0;
      fields[place] = this.#fields[at] ?? 0;
      impacts[place] = this.#impacts[at] ?? 0;
      if (at % STEP === 0) yield;
    }
    return { startOf: (word) => starts[word] ?? 0, entries, fields, impacts };
  }
}

function grown<A extends Uint32Array | Uint8Array | Float32Array>(from: A, to: A): A {
  to.set(from);
  return to;
}
