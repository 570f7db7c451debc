/**
 * The best of many, as many as are asked for: a heap, so that what is not among them costs one
 * comparison and no object.
 */
import { type SearchEntry, sourceOf } from "./entry.ts";
import type { SearchIndex } from "./search-index.ts";

/** An entry that is among the best. */
export interface TopHit {
  readonly index: SearchIndex;
  readonly number: number;
  readonly score: number;
}

/** The worst of them is at its top. */
export class TopHits {
  readonly #most: number;
  readonly #heap: TopHit[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Tells whether an entry of this score would be among them. */
  hasRoomFor(index: SearchIndex, number: number, score: number): boolean {
    const [worst] = this.#heap;
    if (worst === undefined || this.#heap.length < this.#most) return true;
    if (score !== worst.score) return score > worst.score;
    return isNamedBefore(index, number, worst);
  }

  /** Takes one that there is room for. */
  take(hit: TopHit): void {
    const heap = this.#heap;
    if (heap.length < this.#most) {
      heap.push(hit);
      this.#rise(heap.length - 1);
      return;
    }
    heap[0] = hit;
    this.#sink();
  }

  /** The best first. */
  sorted(): readonly TopHit[] {
    return this.#heap.toSorted((one, other) => (isBetter(one, other) ? -1 : 1));
  }

  #rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#swapUnless(parent, at)) return;
      at = parent;
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const right = left + 1;
      const [one, other] = [this.#heap[left], this.#heap[right]];
      if (one === undefined) return;
      const child = other !== undefined && isBetter(one, other) ? right : left;
      if (!this.#swapUnless(at, child)) return;
      at = child;
    }
  }

  /** A parent is worse than its children; false: it is. */
  #swapUnless(parent: number, child: number): boolean {
    const [upper, lower] = [this.#heap[parent], this.#heap[child]];
    if (upper === undefined || lower === undefined || !isBetter(upper, lower)) return false;
    this.#heap[parent] = lower;
    this.#heap[child] = upper;
    return true;
  }
}

/** Of two that answer equally well, the order of their names decides. */
function isBetter(one: TopHit, other: TopHit): boolean {
  if (one.score !== other.score) return one.score > other.score;
  return isNamedBefore(one.index, one.number, other);
}

function isNamedBefore(index: SearchIndex, number: number, other: TopHit): boolean {
  if (index === other.index) {
    return (index.places[number] ?? 0) < (index.places[other.number] ?? 0);
  }
  return nameOf(index.entries[number]) < nameOf(other.index.entries[other.number]);
}

function nameOf(entry: SearchEntry | undefined): string {
  return entry === undefined ? "" : sourceOf(entry);
}
