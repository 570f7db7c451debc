/**
 * Finds endpoints similar to a refused proposal, by capability or words, and the closest pair. They may include
 * endpoints that the agent may not call, as a manifest also lists those.   AGTP-API §10.3
 */

import { addUnder } from "../../../base/listed.ts";
import type { Paced } from "../../../base/paced.ts";
import { SpreadMap } from "../../../base/spread-map.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { Proposal } from "../../../endpoint/synthesis-plan.ts";
import { membersOf } from "./object-members.ts";

/** The weight of a common method, path word, output, input or description word. */
const WEIGHTS = { method: 2, path: 3, output: 3, input: 1, word: 1 } as const;
type Trait = keyof typeof WEIGHTS;

const MAX_TERMS = 128;
const MAX_TEXT_LENGTH = 2048;
const MIN_WORD_LENGTH = 3;
const CAPABILITY_SCORE = 0.5;
/** Words too common in descriptions to matter. */
const FILLERS: ReadonlySet<string> = new Set(
  "the and for with that this its from are was has have one all any into what which".split(" "),
);

/** Indexes the descriptive terms of endpoints, which are sorted by pair. */
export function* indexingSimilarEndpoints(
  endpoints: readonly EndpointDefinition[],
): Paced<SimilarEndpoints> {
  const places = new SpreadMap<number[]>();
  for (const [place, endpoint] of endpoints.entries()) {
    for (const term of termsOf(endpoint).keys()) addUnder(places, term, place);
    yield;
  }
  const capabilities = new Map<string, number[]>();
  for (const [place, { semantic }] of endpoints.entries()) {
    addUnder(capabilities, semantic.capability, place);
    yield;
  }
  return new SimilarEndpoints(endpoints, places, capabilities);
}

/** Finds endpoints similar to a proposal. */
class SimilarEndpoints {
  readonly #endpoints: readonly EndpointDefinition[];
  readonly #places: Pick<SpreadMap<readonly number[]>, "get">;
  /** The indexes of endpoints by capability. */
  readonly #capabilities: ReadonlyMap<string, readonly number[]>;

  constructor(
    endpoints: readonly EndpointDefinition[],
    places: Pick<SpreadMap<readonly number[]>, "get">,
    capabilities: ReadonlyMap<string, readonly number[]>,
  ) {
    this.#endpoints = endpoints;
    this.#places = places;
    this.#capabilities = capabilities;
  }

  /** The most similar endpoints, best first, at most `limit`. */
  similar(proposal: Proposal, limit: number): readonly EndpointDefinition[] {
    const scores = this.#score(termsOf(proposal));
    for (const place of this.#capabilities.get(proposal.semantic.capability) ?? []) {
      scores[place] = (scores[place] ?? 0) + CAPABILITY_SCORE;
    }
    return this.#best(scores, limit);
  }

  /** The most similar endpoint with a common path word or output; method and inputs alone are too common. */
  closest(proposal: Proposal): EndpointDefinition | undefined {
    const terms = [...termsOf(proposal)].filter(([, trait]) => trait !== "word");
    const telling = terms.filter(([, trait]) => trait === "path" || trait === "output");
    const close = this.#score(telling);
    const scores = this.#score(terms);
    for (let place = 0; place < scores.length; place += 1) {
      if (close[place] === 0) scores[place] = 0;
    }
    return this.#best(scores, 1)[0];
  }

  /** Scores endpoints by index; rare terms weigh more. */
  #score(terms: Iterable<readonly [string, Trait]>): Float64Array {
    const scores = new Float64Array(this.#endpoints.length);
    for (const [term, trait] of terms) {
      const places = this.#places.get(term) ?? [];
      const weight = WEIGHTS[trait] * Math.log1p(scores.length / places.length);
      for (const place of places) scores[place] = (scores[place] ?? 0) + weight;
    }
    return scores;
  }

  /** The highest scores, with equal ones in index order. */
  #best(scores: Float64Array, limit: number): readonly EndpointDefinition[] {
    const best: { readonly place: number; readonly score: number }[] = [];
    for (let place = 0; place < scores.length; place += 1) {
      const score = scores[place] ?? 0;
      const last = best.at(-1);
      const isFull = best.length >= limit;
      if (score === 0 || (isFull && score <= (last?.score ?? Number.POSITIVE_INFINITY))) continue;
      if (isFull) best.pop();
      const at = best.findLastIndex((other) => other.score >= score);
      best.splice(at + 1, 0, { place, score });
    }
    return best.flatMap(({ place }) => this.#endpoints[place] ?? []);
  }
}

/** The terms of an endpoint or proposal, bounded in number, each with one trait. */
function termsOf(described: Proposal): ReadonlyMap<string, Trait> {
  const { method, path, description, semantic, inputSchema, outputSchema } = described;
  const terms = new Map<string, Trait>([[`method ${method}`, "method"]]);
  const add = (trait: Trait, names: Iterable<string>): void => {
    for (const name of names) if (terms.size < MAX_TERMS) terms.set(`${trait} ${name}`, trait);
  };
  add("path", wordsOf(path));
  add("output", membersOf(outputSchema).properties.keys());
  add("input", membersOf(inputSchema).properties.keys());
  add("word", wordsOf(description));
  add("word", wordsOf(semantic.intent));
  return terms;
}

/** The words of a text in lower case, without a plural "s": "/rooms" is about the same as "/room". */
export function wordsOf(text: string): readonly string[] {
  return text
    .slice(0, MAX_TEXT_LENGTH)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= MIN_WORD_LENGTH && !FILLERS.has(word))
    .map((word) =>
      word.length > MIN_WORD_LENGTH && word.endsWith("s") ? word.slice(0, -1) : word,
    );
}
