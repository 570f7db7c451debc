/**
 * Selects the best hits, as many as are requested. Entries are examined from the best on, so that expensive conditions
 * are checked for few; the number examined does not change the result.
 */
import { firstIndex } from "../../base/first-index.ts";
import type { Paced } from "../../base/paced.ts";
import { CONFIDENCE_STEPS } from "./confidence.ts";
import { type SearchEntry, sourceOf } from "./entry.ts";
import type { Scores } from "./scores.ts";
import type { SearchIndex } from "./search-index.ts";

export interface Hit {
  readonly entry: SearchEntry;
  /** 0 to 1. */
  readonly confidence: number;
  /** Orders hits of the same confidence. */
  readonly score: number;
}

/** An index, and the condition on its entries. */
export interface Candidates {
  readonly index: SearchIndex;
  accepts(number: number): boolean;
}

interface ScoredCandidates extends Candidates {
  readonly scores: Scores;
}

const STEP = 128;
/** Entries per step of the counting pass, which is cheap. */
const COUNTED_STEP = 4096;

/** Returns the best hits of all indexes together, at or above the confidence threshold. */
export function* findingBestHits(
  all: readonly ScoredCandidates[],
  most: number,
  threshold: number,
): Paced<readonly Hit[]> {
  const hits: Hit[] = [];
  const groups: Grouped[] = [];
  for (const candidates of all) groups.push(yield* groupingByConfidence(candidates, threshold));
  let looked = 0;
  for (let step = CONFIDENCE_STEPS; step >= 0 && hits.length < most; step -= 1) {
    const top = new TopHits(most - hits.length);
    for (const { candidates, numbers, starts } of groups) {
      const { index, scores } = candidates;
      const end = starts[step + 1] ?? 0;
      for (let at = starts[step] ?? 0; at < end; at += 1) {
        looked += 1;
        if (looked % STEP === 0) yield;
        const number = numbers[at] ?? 0;
        const score = scores.scoreOf(number);
        if (!top.hasRoomFor(index, number, score) || !candidates.accepts(number)) continue;
        top.take({ index, number, score });
      }
    }
    hits.push(...top.sorted.flatMap((hit) => hitOf(hit, step / CONFIDENCE_STEPS)));
  }
  return hits;
}

function hitOf({ index, number, score }: TopHit, confidence: number): readonly Hit[] {
  const entry = index.entries[number];
  return entry === undefined ? [] : [{ entry, confidence, score }];
}

/** The hits of one index grouped by confidence: a counting sort, without an object per hit. */
interface Grouped {
  readonly candidates: ScoredCandidates;
  readonly numbers: Uint32Array;
  /** Start of each confidence step's hits, which end where the next step's start. */
  readonly starts: Uint32Array;
}

function* groupingByConfidence(candidates: ScoredCandidates, threshold: number): Paced<Grouped> {
  const { scores } = candidates;
  const { found } = scores;
  const steps = new Uint16Array(found.length);
  const starts = new Uint32Array(CONFIDENCE_STEPS + 2);
  for (const [at, number] of found.entries()) {
    const step = Math.min(CONFIDENCE_STEPS, scores.confidenceOf(number));
    steps[at] = step;
    starts[step + 1] = (starts[step + 1] ?? 0) + 1;
    if (at % COUNTED_STEP === 0) yield;
  }
  for (let step = 0; step <= CONFIDENCE_STEPS; step += 1) {
    // Steps below the threshold have no hits.
    if (step / CONFIDENCE_STEPS < threshold) starts[step + 1] = 0;
    starts[step + 1] = (starts[step + 1] ?? 0) + (starts[step] ?? 0);
  }
  const next = starts.slice();
  const numbers = new Uint32Array(starts.at(-1) ?? 0);
  for (const [at, number] of found.entries()) {
    const step = steps[at] ?? 0;
    if (step / CONFIDENCE_STEPS < threshold) continue;
    const place = next[step] ?? 0;
    numbers[place] = number;
    next[step] = place + 1;
  }
  return { candidates, numbers, starts };
}

/** Returns the most prominent accepted entries; without words every one is a full match. */
export function* findingMostProminent(
  all: readonly Candidates[],
  most: number,
): Paced<readonly Hit[]> {
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

/** Prominence of the next entry in a queue; 0 at its end. */
function headOf({ candidates: { index }, place }: HeldCandidates): number {
  const number = index.byProminence[place];
  return number === undefined ? 0 : (index.prominences[number] ?? 0);
}

interface HeldCandidates {
  readonly candidates: Candidates;
  readonly place: number;
}

/** An entry among the best. */
interface TopHit {
  readonly index: SearchIndex;
  readonly number: number;
  readonly score: number;
}

/** The best of many entries, up to a number; any other costs one comparison and no object. */
class TopHits {
  /** Best first. */
  readonly sorted: TopHit[] = [];
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** True if an entry of this score would be among the best. */
  hasRoomFor(index: SearchIndex, number: number, score: number): boolean {
    const worst = this.sorted.at(-1);
    if (worst === undefined || this.sorted.length < this.#most) return true;
    if (score !== worst.score) return score > worst.score;
    return isNamedBefore(index, number, worst);
  }

  /** Inserts an entry that there is room for. */
  take(hit: TopHit): void {
    const { sorted } = this;
    if (sorted.length === this.#most) sorted.pop();
    const place = firstIndex(sorted.length, (at) => isBetter(hit, sorted[at] as TopHit));
    sorted.splice(place, 0, hit);
  }
}

/** Compares by score, then by name. */
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
