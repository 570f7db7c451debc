/**
 * What a live source shows, as something that can be found. Only so much of each text is searched,
 * and so many entries looked at: who wrote them is not who asks.
 */
import type { SearchEntry, SearchField } from "./entry.ts";
import type { QueryEntry } from "./source.ts";

/** The newest of a source. */
export const MAX_LIVE_ENTRIES = 200;
const MAX_SEARCHED_LENGTH = 400;
const MAX_TOLD_LENGTH = 2000;
const FIELDS: readonly SearchField[] = ["name", "intent", "description", "outcome"];

/** The entry; it was made for its caller, who may see it. */
export function liveEntry(source: string, { id, texts, content }: QueryEntry): SearchEntry {
  const searched = FIELDS.map((field, index) => [field, texts[index]] as const).filter(
    (one): one is [SearchField, string] => one[1] !== undefined,
  );
  return {
    kind: source,
    id,
    texts: Object.fromEntries(
      searched.map(([field, text]) => [field, text.slice(0, MAX_SEARCHED_LENGTH)]),
    ),
    facets: { tags: [source] },
    prominence: 1,
    isVisibleTo: () => true,
    show: (_asker, format) => (format === "natural" ? sentence(source, texts) : content),
  };
}

function sentence(source: string, texts: readonly string[]): string {
  return `In ${source}: ${texts.join("; ").slice(0, MAX_TOLD_LENGTH)}`;
}
