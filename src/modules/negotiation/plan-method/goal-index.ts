/**
 * Finds the endpoint or recipe that a goal's words describe. Words are weighted: those in a method, path or output
 * weigh more than those in a description, and rare words more than common ones. Without a significant common word,
 * nothing is found.   AGTP "PLAN"
 */
import { addUnder } from "../../../base/listed.ts";
import { mapPaced, type Paced, sortPaced } from "../../../base/paced.ts";
import { SpreadMap } from "../../../base/spread-map.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { Recipe } from "../../../endpoint/recipe.ts";
import { compareTexts } from "../synthesis/endpoint-index.ts";
import { membersOf } from "../synthesis/object-members.ts";
import { wordsOf } from "../synthesis/similar-endpoints.ts";

/** A possible subject of a goal. */
type GoalSubject =
  | { readonly kind: "endpoint"; readonly endpoint: EndpointDefinition }
  | { readonly kind: "recipe"; readonly recipe: Recipe };

/** A match of a goal. */
export interface GoalMatch {
  readonly subject: GoalSubject;
  readonly score: number;
  /** The fraction of the goal's words that it covers, from 0 to 1. */
  readonly share: number;
}

/** Finds the subjects of a goal, best first, ignoring words of `known` values. */
export type GoalIndex = (goal: string, known: ReadonlySet<string>) => readonly GoalMatch[];

const WEIGHTS = { method: 3, path: 3, output: 2, input: 1, word: 1 } as const;
type Trait = keyof typeof WEIGHTS;

const MAX_GOAL_WORDS = 64;
/** The weight of a word in no subject, which may be a name. */
const UNKNOWN_WEIGHT = 0.5;
const MIN_SHARE = 0.25;
/** The minimum score of a match, as a fraction of the best. */
const CLOSE = 0.8;
const MAX_MATCHES = 8;
/** From this number of subjects on, words that most of them have are ignored. */
const MANY = 64;
/** Words that may introduce any goal. */
const REQUESTS: ReadonlySet<string> = new Set(
  "please need want would like could should find get give show tell make let know look".split(" "),
);

type Traits = ReadonlyMap<string, Trait>;

/** Indexes the subjects of goals, one per step. */
export function* indexingGoals(
  endpoints: readonly EndpointDefinition[],
  recipes: Iterable<Recipe>,
): Paced<GoalIndex> {
  const named = [
    ...(yield* mapPaced(endpoints, (endpoint) => namedSubject({ kind: "endpoint", endpoint }))),
    ...(yield* mapPaced(recipes, (recipe) => namedSubject({ kind: "recipe", recipe }))),
  ];
  const sorted = yield* sortPaced(named, (a, b) => compareTexts(a.name, b.name));
  const subjects = yield* mapPaced(sorted, ({ subject }) => subject);
  const traits = yield* mapPaced(subjects, traitsOf);
  const places = new SpreadMap<number[]>();
  for (const [place, words] of traits.entries()) {
    for (const word of words.keys()) addUnder(places, word, place);
    yield;
  }
  return (goal, known) => {
    const words = [...new Set(wordsOf(goal))]
      .filter((word) => !REQUESTS.has(word) && !known.has(word))
      .slice(0, MAX_GOAL_WORDS);
    const found = new Scores(traits);
    for (const word of words) found.count(word, places.get(word) ?? []);
    return found.best().flatMap(({ place, score, share }) => {
      const subject = subjects[place];
      return subject === undefined ? [] : [{ subject, score, share }];
    });
  };
}

interface Score {
  readonly place: number;
  readonly score: number;
  readonly share: number;
}

/** The scores of subjects for the words of a goal. */
class Scores {
  readonly #traits: readonly Traits[];
  readonly #scores = new Map<number, { score: number; matched: number; telling: number }>();
  #whole = 0;

  constructor(traits: readonly Traits[]) {
    this.#traits = traits;
  }

  count(word: string, places: readonly number[]): void {
    const total = this.#traits.length;
    if (total >= MANY && places.length > total / 2) return;
    const isKnown = places.length > 0;
    const rarity = Math.log1p(total / Math.max(1, places.length));
    this.#whole += isKnown ? rarity : rarity * UNKNOWN_WEIGHT;
    for (const place of places) {
      const trait = this.#traits[place]?.get(word) ?? "word";
      const known = this.#scores.get(place) ?? { score: 0, matched: 0, telling: 0 };
      known.score += rarity * WEIGHTS[trait];
      known.matched += rarity;
      // A single common word of a description may be accidental.
      known.telling += trait === "word" || trait === "input" ? 1 : 2;
      this.#scores.set(place, known);
    }
  }

  /** Returns the best scores first; equal ones in index order. */
  best(): readonly Score[] {
    const all = Array.from(this.#scores, ([place, { score, matched, telling }]) => {
      return { place, score: rounded(score), share: matched / this.#whole, telling };
    }).filter(({ share, telling }) => share >= MIN_SHARE && telling >= 2);
    all.sort((a, b) => b.score - a.score || a.place - b.place);
    const [closest] = all;
    if (closest === undefined) return [];
    return all.filter(({ score }) => score >= CLOSE * closest.score).slice(0, MAX_MATCHES);
  }
}

/** Rounds a score, so that the order of addition does not separate equal ones. */
function rounded(score: number): number {
  return Math.round(score * 1e6) / 1e6;
}

interface NamedSubject {
  readonly subject: GoalSubject;
  readonly name: string;
}

function namedSubject(subject: GoalSubject): NamedSubject {
  if (subject.kind === "recipe") return { subject, name: `recipe ${subject.recipe.name}` };
  const { method, path } = subject.endpoint;
  return { subject, name: `endpoint ${method} ${path}` };
}

/** Maps each word to its most significant trait. */
function traitsOf(subject: GoalSubject): Traits {
  const traits = new Map<string, Trait>();
  for (const [trait, text] of textsOf(subject)) {
    for (const word of wordsOf(text)) {
      const known = traits.get(word);
      if (known === undefined || WEIGHTS[trait] > WEIGHTS[known]) traits.set(word, trait);
    }
  }
  return traits;
}

function* textsOf(subject: GoalSubject): Generator<readonly [Trait, string]> {
  if (subject.kind === "recipe") {
    const { name, description, pattern, semantic } = subject.recipe;
    yield ["method", pattern?.methodExact ?? ""];
    yield ["path", `${pattern?.pathExact ?? ""} ${name}`];
    yield ["word", `${description} ${semantic?.intent ?? ""} ${semantic?.outcome ?? ""}`];
    yield ["input", (pattern?.hasParameters ?? []).join(" ")];
    return;
  }
  const { method, path, description, semantic, inputSchema, outputSchema } = subject.endpoint;
  yield ["method", method];
  yield ["path", path];
  yield ["output", [...membersOf(outputSchema).properties.keys()].join(" ")];
  yield ["input", [...membersOf(inputSchema).properties.keys()].join(" ")];
  yield ["word", `${description} ${semantic.intent} ${semantic.outcome}`];
}
