/**
 * An entry of a live source, as something that can be found. Only so much of each text is searched,
 * and so many entries looked at: who wrote them is not who asks.
 */

import { MAX_SOURCE_ENTRIES, type QueryEntry } from "../../dispatch/module/query-source.ts";
import type { SearchEntry, SearchField } from "./entry.ts";

/** Of one text, and of all texts that one question looks into. */
const MAX_SEARCHED_LENGTH = 400;
const MAX_SEARCHED_IN_ALL = 262_144;
const MAX_TOLD_LENGTH = 2000;
const FIELDS: readonly SearchField[] = ["name", "intent", "description", "outcome"];

/** The entries of one source. */
interface LiveAnswer {
  readonly source: string;
  readonly entries: readonly QueryEntry[];
}

/** The newest entries of each source; they were made for their caller, who may see them. */
export function liveEntries(answers: readonly LiveAnswer[]): readonly SearchEntry[] {
  const shown = answers.map(({ source, entries }) => ({
    source,
    entries: entries.slice(0, MAX_SOURCE_ENTRIES),
  }));
  const count = shown.reduce((sum, { entries }) => sum + entries.length, 0);
  // Where there is much, less of each is searched, and not some of them not at all.
  const length = Math.min(
    MAX_SEARCHED_LENGTH,
    Math.floor(MAX_SEARCHED_IN_ALL / FIELDS.length / count),
  );
  return shown.flatMap(({ source, entries }) =>
    entries.map((entry) => liveEntry(source, entry, length)),
  );
}

function liveEntry(
  source: string,
  { id, texts, content }: QueryEntry,
  length: number,
): SearchEntry {
  const searched = FIELDS.map((field, index) => [field, texts[index]] as const).filter(
    (one): one is [SearchField, string] => one[1] !== undefined,
  );
  return {
    kind: source,
    id,
    texts: Object.fromEntries(searched.map(([field, text]) => [field, text.slice(0, length)])),
    facets: { tags: [source] },
    prominence: 1,
    isVisibleTo: () => true,
    show: (_asker, format) => (format === "natural" ? sentence(source, texts) : content),
  };
}

function sentence(source: string, texts: readonly string[]): string {
  return `In ${source}: ${texts.join("; ").slice(0, MAX_TOLD_LENGTH)}`;
}
