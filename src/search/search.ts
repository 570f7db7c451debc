/**
 * Looks through everything that a caller may find: endpoints, agents, recipes and APIs in indexes
 * that are built from the start on, and live sources, which are asked for this caller alone. What a
 * caller may not see leaves no trace in what it is shown.   AGTP "QUERY", "DISCOVER"
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { CallLog } from "../handlers/handler.ts";
import { type QuestionWord, weighWords } from "./confidence.ts";
import { type Asker, type SearchEntry, sourceOf } from "./entry.ts";
import { type Condition, compileFilter } from "./filter.ts";
import { liveEntry, MAX_LIVE_ENTRIES } from "./live-entry.ts";
import type { Question } from "./question.ts";
import { type Hit, type SearchEngine, SearchIndex } from "./search-index.ts";
import { KINDS, readScope } from "./search-scope.ts";
import type { QuerySource } from "./source.ts";

/** What is the same for every caller, up to what it may see of it. */
export interface Surface {
  /** What anybody who may ask is shown: its words weigh the words of questions. */
  readonly open: readonly SearchEntry[];
  /** What some are not shown. */
  readonly disclosed: readonly SearchEntry[];
}

export interface SearchOptions {
  readonly Engine: SearchEngine;
  surface(): Surface;
  sources(): readonly QuerySource[];
}

/** A search. */
export interface SearchRequest {
  readonly question: Question;
  /** Names of kinds, live sources or namespaces; undefined: everything. */
  readonly scope: readonly string[] | undefined;
  readonly threshold: number;
  readonly maxResults: number;
  /** Conditions beside those of the question. */
  readonly condition?: Condition;
  readonly asksLiveSources: boolean;
}

/** What was found. */
export interface Findings {
  /** Best first. */
  readonly hits: readonly Hit<SearchEntry>[];
  /** Whether more answered than were asked for. */
  readonly hasMore: boolean;
  /** Kinds and sources that were looked into. */
  readonly searched: readonly string[];
  /** Names in the scope that mean nothing here. */
  readonly unknownScope: readonly string[];
  /** Sources that could not answer. */
  readonly unavailable: readonly string[];
}

/** How many entries are indexed in one turn of the event loop: a few milliseconds. */
const ADDED_AT_ONCE = 32;

interface Indexes {
  readonly open: SearchIndex<SearchEntry>;
  readonly disclosed: SearchIndex<SearchEntry>;
}

export class Search {
  readonly #options: SearchOptions;
  #indexes: Indexes | undefined;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /**
   * Gathers what there is to find, and indexes it by and by, so that others have their turn. Who asks
   * before that is done waits for the rest.
   */
  async prepare(): Promise<void> {
    const { open, disclosed } = this.#gather();
    for (const index of [open, disclosed]) while (!index.add(ADDED_AT_ONCE)) await nextTurn();
  }

  #gather(): Indexes {
    if (this.#indexes !== undefined) return this.#indexes;
    const { Engine, surface } = this.#options;
    const { open, disclosed } = surface();
    this.#indexes = {
      open: new SearchIndex(Engine, open),
      disclosed: new SearchIndex(Engine, disclosed),
    };
    return this.#indexes;
  }

  async find(request: SearchRequest, asker: Asker, log: Pick<CallLog, "warn">): Promise<Findings> {
    const { open, disclosed } = this.#gather();
    const { question, threshold, maxResults } = request;
    const sources = request.asksLiveSources ? this.#options.sources() : [];
    const scope = readScope(request.scope, sources, open.entries);
    const asked = sources.filter(({ name }) => scope.includes(name));
    const { live, unavailable } = await askSources(asked, asker, log);
    const filter = compileFilter(question.filter);
    const accepts = (entry: SearchEntry): boolean =>
      scope.admits(entry) &&
      entry.isVisibleTo(asker) &&
      filter(entry, asker) &&
      (request.condition?.(entry, asker) ?? true);
    const { Engine } = this.#options;
    const passing = live.map((entries) => new SearchIndex(Engine, entries));
    const indexes = [open, disclosed, ...passing].map((index) => index.complete());
    const words = question.words && this.#weigh(question.words, open);
    const found =
      words === undefined
        ? everythingIn(indexes, accepts)
        : indexes.flatMap((index) => index.find({ words, accepts }));
    const named = live.flat().filter((entry) => scope.names(entry.kind) && accepts(entry));
    const hits = [...found, ...rest(named, found)]
      .filter(({ confidence }) => confidence >= threshold)
      .sort(byConfidence);
    return {
      hits: hits.slice(0, maxResults),
      hasMore: hits.length > maxResults,
      searched: [...KINDS.filter((kind) => scope.includes(kind)), ...asked.map(({ name }) => name)],
      unknownScope: scope.unknown,
      unavailable,
    };
  }

  #weigh(words: readonly string[], open: SearchIndex<SearchEntry>): readonly QuestionWord[] {
    return weighWords(words, {
      frequencyOf: (word) => open.frequencyOf(word),
      total: open.entries.length,
      isMethod: (word) => open.methods.has(word),
    });
  }
}

/** Without words there is nothing to doubt: whatever is accepted is what was asked for. */
function everythingIn(
  indexes: readonly SearchIndex<SearchEntry>[],
  accepts: (entry: SearchEntry) => boolean,
): readonly Hit<SearchEntry>[] {
  return indexes
    .flatMap(({ entries }) => entries)
    .filter(accepts)
    .map((entry, place) => ({ entry, confidence: 1, score: entry.prominence - place * 1e-9 }));
}

/** A caller that names a source of its own is shown what is in it, whatever words it uses. */
function rest(
  named: readonly SearchEntry[],
  found: readonly Hit<SearchEntry>[],
): readonly Hit<SearchEntry>[] {
  const known = new Set(found.map(({ entry }) => entry));
  return named
    .filter((entry) => !known.has(entry))
    .map((entry, place) => ({ entry, confidence: 0, score: -place }));
}

function byConfidence(one: Hit<SearchEntry>, other: Hit<SearchEntry>): number {
  if (one.confidence !== other.confidence) return other.confidence - one.confidence;
  if (one.score !== other.score) return other.score - one.score;
  return sourceOf(one.entry) < sourceOf(other.entry) ? -1 : 1;
}

/** One source that fails takes nothing from what the others have. */
async function askSources(
  sources: readonly QuerySource[],
  asker: Asker,
  log: Pick<CallLog, "warn">,
): Promise<{ readonly live: readonly SearchEntry[][]; readonly unavailable: readonly string[] }> {
  const answers = await Promise.allSettled(
    sources.map(async (source) => {
      const entries = await source.entries(asker);
      return entries.slice(0, MAX_LIVE_ENTRIES).map((entry) => liveEntry(source.name, entry));
    }),
  );
  const unavailable = answers.flatMap((answer, index) => {
    if (answer.status === "fulfilled") return [];
    const name = sources[index]?.name ?? "";
    log.warn({ source: name, error: answer.reason }, "a source could not be queried");
    return [name];
  });
  const live = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  return { live, unavailable };
}
