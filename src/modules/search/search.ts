/**
 * Searches everything that a caller may find: endpoints, agents, recipes and APIs in indexes that are built at the
 * start, and live sources, which are queried for this caller only. Entries that a caller may not see do not affect its
 * results.   AGTP "QUERY", "DISCOVER"
 */
import type { Drive, Paced } from "../../base/paced.ts";
import type { QuerySource } from "../../dispatch/module/query-source.ts";
import type { CallLog } from "../../handlers/handler.ts";
import { type Candidates, findingBestHits, findingMostProminent, type Hit } from "./best-hits.ts";
import { weighWords } from "./confidence.ts";
import type { Asker, SearchEntry } from "./entry.ts";
import { type Condition, compileFilter, type Filter, type ListedCondition } from "./filter.ts";
import { liveEntries } from "./other-entries.ts";
import type { Question } from "./question.ts";
import { questionWork, scoringWords } from "./scores.ts";
import { buildingIndex, type SearchIndex } from "./search-index.ts";
import { wordsOf } from "./words.ts";

/** The entries that exist for every caller, whose visibility may differ. */
export interface Surface {
  /** Entries visible to every caller; the word weights come from these. */
  readonly open: readonly SearchEntry[];
  /** Entries with restricted visibility. */
  readonly disclosed: readonly SearchEntry[];
}

interface SearchOptions {
  surface(): Paced<Surface>;
  sources(): readonly QuerySource[];
  /** Runs work that no request waits for. */
  readonly drive: Drive;
}

export interface SearchRequest {
  readonly question: Question;
  /** Names of kinds, live sources or namespaces; undefined for everything. */
  readonly scope: readonly string[] | undefined;
  readonly threshold: number;
  readonly maxResults: number;
  /** A condition in addition to the question's. */
  readonly condition?: Condition;
  readonly asksLiveSources: boolean;
}

/** The result of a search. */
export interface Findings {
  /** Best first. */
  readonly hits: readonly Hit[];
  /** True if further entries matched. */
  readonly hasMore: boolean;
  /** Kinds and sources that were searched. */
  readonly searched: readonly string[];
  /** Names in the scope that are unknown here. */
  readonly unknownScope: readonly string[];
  /** Sources that failed. */
  readonly unavailable: readonly string[];
}

interface Indexes {
  readonly open: SearchIndex;
  readonly disclosed: SearchIndex;
}

export class Search {
  readonly #options: SearchOptions;
  #indexes: Promise<Indexes> | undefined;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /** Collects and indexes the entries in paced steps. A search before the end waits for it. */
  prepare(): Promise<Indexes> {
    this.#indexes ??= Promise.resolve(this.#options.drive(this.#build()));
    return this.#indexes;
  }

  *#build(): Paced<Indexes> {
    const { open, disclosed } = yield* this.#options.surface();
    const indexes = {
      open: yield* buildingIndex(open),
      disclosed: yield* buildingIndex(disclosed),
    };
    yield* warmingUp(indexes.open);
    return indexes;
  }

  async find(
    request: SearchRequest,
    asker: Asker,
    { log, drive }: { readonly log: Pick<CallLog, "warn">; readonly drive: Drive },
  ): Promise<Findings> {
    const indexes = await this.prepare();
    const sources = request.asksLiveSources ? this.#options.sources() : [];
    const scope = readScope(request.scope, sources, indexes.open.namespaces);
    const asked = sources.filter(({ name }) => scope.includes(name));
    const { live, unavailable } = await askSources(asked, asker, log);
    const found = await drive(answering(indexes, live, { request, asker, scope }));
    return {
      hits: found.slice(0, request.maxResults),
      hasMore: found.length > request.maxResults,
      searched: [...KINDS.filter((kind) => scope.includes(kind)), ...asked.map(({ name }) => name)],
      unknownScope: scope.unknown,
      unavailable,
    };
  }
}

interface Asking {
  readonly request: SearchRequest;
  readonly asker: Asker;
  readonly scope: Scope;
}

/** Returns one hit more than requested, if there are so many. */
function* answering(
  { open, disclosed }: Indexes,
  live: readonly SearchEntry[],
  asking: Asking,
): Paced<readonly Hit[]> {
  const { question, threshold, maxResults } = asking.request;
  const filter = compileFilter(question.filter);
  const passing = live.length === 0 ? undefined : yield* buildingIndex(live);
  const most = maxResults + 1;
  const candidates: Candidates[] = [];
  for (const index of [open, disclosed, passing]) {
    if (index === undefined || index.entries.length === 0) continue;
    candidates.push(yield* findingCandidates(index, filter, asking));
  }
  if (question.words === undefined) return yield* findingMostProminent(candidates, most);
  const words = weighWords(question.words, open);
  const work = questionWork();
  const scored = [];
  for (const one of candidates) {
    scored.push({ ...one, scores: yield* scoringWords(one.index, words, work) });
  }
  const hits = yield* findingBestHits(scored, most, threshold);
  if (threshold > 0 || passing === undefined || hits.length === most) return hits;
  const own = candidates.find(({ index }) => index === passing);
  return [...hits, ...(own === undefined ? [] : rest(own, hits, asking.scope))].slice(0, most);
}

/** Combines the conditions on an entry, cheapest first. */
function* findingCandidates(
  index: SearchIndex,
  filter: Filter,
  { request, asker, scope }: Asking,
): Paced<Candidates> {
  const isListed = yield* selectingListed(index, filter.listed);
  const accepts = (number: number): boolean => {
    const entry = index.entries[number];
    if (entry === undefined || !isListed(number)) return false;
    return (
      scope.admits(entry) &&
      entry.isVisibleTo(asker) &&
      filter.meets(entry, asker) &&
      (request.condition?.(entry, asker) ?? true)
    );
  };
  return { index, accepts };
}

/** Adds the other entries of a source that the scope names, whatever their words. */
function rest({ index, accepts }: Candidates, found: readonly Hit[], scope: Scope): readonly Hit[] {
  const known = new Set(found.map(({ entry }) => entry));
  return index.entries
    .filter((entry, number) => scope.names(entry.kind) && !known.has(entry) && accepts(number))
    .map((entry, place) => ({ entry, confidence: 0, score: -place }));
}

/** Queries the live sources; a failing one does not affect the others. */
async function askSources(
  sources: readonly QuerySource[],
  asker: Asker,
  log: Pick<CallLog, "warn">,
): Promise<{ readonly live: readonly SearchEntry[]; readonly unavailable: readonly string[] }> {
  const answers = await Promise.allSettled(sources.map(async (source) => source.entries(asker)));
  const answered = answers.flatMap((answer, at) => {
    const source = sources[at]?.name ?? "";
    return answer.status === "fulfilled" ? [{ source, entries: answer.value }] : [];
  });
  const unavailable = answers.flatMap((answer, at) => {
    if (answer.status === "fulfilled") return [];
    const name = sources[at]?.name ?? "";
    log.warn({ source: name, error: answer.reason }, "a source could not be queried");
    return [name];
  });
  return { live: liveEntries(answered), unavailable };
}

/** Number of entries below which an index needs no warm-up. */
const LARGE = 2000;
const QUESTIONS = 24;
const WORDS = 6;
const MOST = 10;

/**
 * Warms up a large index with some searches: code that has run is several times as fast as new code, and the first
 * caller should not pay for that. The questions are words of entries, whole, as prefixes and misspelt.
 */
export function* warmingUp(index: SearchIndex): Paced<void> {
  const { entries } = index;
  if (entries.length < LARGE) return;
  for (let round = 0; round < QUESTIONS; round += 1) {
    const entry = entries[Math.floor((round * entries.length) / QUESTIONS)];
    const words = wordsOf(entry?.texts.intent ?? "").slice(0, WORDS);
    const asked = words.map((word) => changed(word, round % 3));
    const scores = yield* scoringWords(index, weighWords(asked, index), questionWork());
    yield* findingBestHits([{ index, scores, accepts: () => true }], MOST, 0);
  }
}

function changed(word: string, how: number): string {
  if (how === 0) return word;
  return how === 1 ? word.slice(0, 3) : `${word.slice(0, 2)}${word.slice(3)}`;
}

/** The kinds of every server. */
const KINDS = ["endpoint", "agent", "recipe", "api"] as const;

interface Scope {
  readonly unknown: readonly string[];
  /** True if a kind or source is searched. */
  includes(kind: string): boolean;
  /** True if the scope has the kind's own name. */
  names(kind: string): boolean;
  admits(entry: SearchEntry): boolean;
}

/**
 * Reads a scope of kinds, live sources and namespaces; undefined is everything. An unknown name is no fault, but is
 * reported.   AGTP "QUERY" scope
 */
function readScope(
  named: readonly string[] | undefined,
  sources: readonly QuerySource[],
  namespaces: ReadonlySet<string>,
): Scope {
  if (named === undefined) {
    return { unknown: [], includes: () => true, names: () => false, admits: () => true };
  }
  const live = sources.map(({ name }) => name);
  const kinds = new Set<string>();
  const domains = new Set<string>();
  const unknown: string[] = [];
  for (const name of named) {
    const kind = [...KINDS, ...live].find((one) => isNameOf(one, name.toLowerCase()));
    if (kind !== undefined) kinds.add(kind);
    else if (namespaces.has(name)) domains.add(name);
    else unknown.push(name);
  }
  return {
    unknown,
    includes: (kind) => kinds.has(kind) || (kind === "endpoint" && domains.size > 0),
    names: (kind) => kinds.has(kind),
    admits: ({ kind, facets }) => kinds.has(kind) || domains.has(facets.namespace ?? ""),
  };
}

/** Singular and plural name the same kind. */
function isNameOf(kind: string, name: string): boolean {
  return name === kind || name === `${kind}s` || kind === `${name}s`;
}

/** Selects the entries that meet every condition on listed facets, by counting the conditions that each meets. */
function* selectingListed(
  { entries, facets }: SearchIndex,
  conditions: readonly ListedCondition[],
): Paced<(number: number) => boolean> {
  if (conditions.length === 0) return () => true;
  const met = new Uint8Array(entries.length);
  for (const [place, { facet, values }] of conditions.entries()) {
    for (const value of new Set(values.map((one) => one.toLowerCase()))) {
      for (const number of facets.having(facet, value)) {
        if (met[number] === place) met[number] = place + 1;
      }
      yield;
    }
  }
  return (number) => met[number] === conditions.length;
}
