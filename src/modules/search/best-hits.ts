/**
 * The best of what was found, as many as are asked for. Entries are looked at from the best on, so
 * that conditions which cost something are asked of few; how many were looked at changes nothing.
 */
import type { Paced } from "../../base/paced.ts";
import { CONFIDENCE_STEPS } from "./confidence.ts";
import { type SearchEntry, sourceOf } from "./entry.ts";
import type { Scores } from "./scores.ts";
import type { SearchIndex } from "./search-index.ts";

/** An entry that was found. */
export interface Hit {
  readonly entry: SearchEntry;
  /** 0 to 1. */
  readonly confidence: number;
  /** Orders what has the same confidence. */
  readonly score: number;
}

/** An index, and what is left of it. */
export interface Candidates {
  readonly index: SearchIndex;
  accepts(number: number): boolean;
}

/** What the words of a question found in it. */
export interface ScoredCandidates extends Candidates {
  readonly scores: Scores;
}

const STEP = 128;

/** So many of the best, of all indexes together; no less sure than the threshold. */
export function* bestHits(
  all: readonly ScoredCandidates[],
  most: number,
  threshold: number,
): Paced<readonly Hit[]> {
  const hits: Hit[] = [];
  const steps = yield* byConfidence(all, threshold);
  for (let step = steps.length - 1; step >= 0 && hits.length < most; step -= 1) {
    const top = new TopHits(most - hits.length);
    let looked = 0;
    for (const { candidates, number } of steps[step] ?? []) {
      looked += 1;
      if (looked % STEP === 0) yield;
      const score = candidates.scores.scoreOf(number);
      if (!top.mayTake(score) || !candidates.accepts(number)) continue;
      const entry = candidates.index.entries[number];
      if (entry !== undefined) top.take({ entry, score, confidence: step / CONFIDENCE_STEPS });
    }
    hits.push(...top.sorted());
    yield;
  }
  return hits;
}

interface Found {
  readonly candidates: ScoredCandidates;
  readonly number: number;
}

function* byConfidence(
  all: readonly ScoredCandidates[],
  threshold: number,
): Paced<readonly (readonly Found[] | undefined)[]> {
  const steps: Found[][] = [];
  for (const candidates of all) {
    let looked = 0;
    for (const number of candidates.scores.found) {
      looked += 1;
      if (looked % STEP === 0) yield;
      const confidence = candidates.scores.confidenceOf(number);
      if (confidence / CONFIDENCE_STEPS < threshold) continue;
      steps[confidence] ??= [];
      steps[confidence].push({ candidates, number });
    }
  }
  return steps;
}

/** Without words there is nothing to doubt: whatever is accepted is what was asked for. */
export function* mostProminent(all: readonly Candidates[], most: number): Paced<readonly Hit[]> {
  const hits: Hit[] = [];
  const queues = all.map((candidates) => ({ candidates, place: 0 }));
  for (let looked = 1; hits.length < most; looked += 1) {
    if (looked % STEP === 0) yield;
    let next: (typeof queues)[number] | undefined;
    let score = 0;
    for (const queue of queues) {
      const prominence = headOf(queue);
      if (prominence <= score) continue;
      next = queue;
      score = prominence;
    }
    if (next === undefined) break;
    const { index, accepts } = next.candidates;
    const number = index.byProminence[next.place] ?? 0;
    next.place += 1;
    const entry = index.entries[number];
    if (entry !== undefined && accepts(number)) hits.push({ entry, confidence: 1, score });
  }
  return hits;
}

/** The prominence of the first that is left; 0: none is. */
function headOf({ candidates: { index }, place }: HeldCandidates): number {
  const number = index.byProminence[place];
  return number === undefined ? 0 : (index.prominences[number] ?? 0);
}

interface HeldCandidates {
  readonly candidates: Candidates;
  readonly place: number;
}

/** A heap of the best, the worst of them at its top. */
class TopHits {
  readonly #most: number;
  readonly #heap: Hit[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  mayTake(score: number): boolean {
    const worst = this.#heap[0];
    return this.#heap.length < this.#most || (worst !== undefined && score >= worst.score);
  }

  take(hit: Hit): void {
    const heap = this.#heap;
    if (heap.length < this.#most) {
      heap.push(hit);
      this.#rise(heap.length - 1);
      return;
    }
    const [worst] = heap;
    if (worst === undefined || !isBetter(hit, worst)) return;
    heap[0] = hit;
    this.#sink();
  }

  sorted(): readonly Hit[] {
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
function isBetter(one: Hit, other: Hit): boolean {
  if (one.score !== other.score) return one.score > other.score;
  return sourceOf(one.entry) < sourceOf(other.entry);
}
