/**
 * The changes between two versions of the method catalog, method by method. Decides what counts as
 * a change: the order of a file and the spelling of its JSON do not.   AGTP-API §4.1, §4.2, §4.7
 */
import type { Catalog, Verb } from "../../catalog/catalog.ts";

/** One method before and after. */
export interface ChangedVerb {
  readonly older: Verb;
  readonly newer: Verb;
}

interface ChangedEntry {
  readonly name: string;
  readonly older: string;
  readonly newer: string;
}

/** Changes in a section that maps names to texts. */
export interface SectionDiff {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly ChangedEntry[];
}

/** Everything that changed, each list in the order of names. */
export interface CatalogDiff {
  readonly added: readonly Verb[];
  readonly removed: readonly Verb[];
  /** Without deprecation before, with it now. */
  readonly deprecated: readonly ChangedVerb[];
  readonly undeprecated: readonly ChangedVerb[];
  /** Deprecated before and now, or not, with another version or successor. */
  readonly redated: readonly ChangedVerb[];
  readonly recategorised: readonly ChangedVerb[];
  readonly redescribed: readonly ChangedVerb[];
  /** HTTP verb -> preferred method. */
  readonly legacy: SectionDiff;
  /** HTTP verbs whose description alone changed. */
  readonly legacyTexts: SectionDiff;
  /** Category -> description. */
  readonly categories: SectionDiff;
}

/** Compares two catalogs. */
export function diffCatalogs(older: Catalog, newer: Catalog): CatalogDiff {
  const pairs = sorted([...older.verbs.values()]).flatMap((verb): readonly ChangedVerb[] => {
    const after = newer.verbs.get(verb.name);
    return after === undefined ? [] : [{ older: verb, newer: after }];
  });
  const preferred = (catalog: Catalog): ReadonlyMap<string, string> =>
    new Map([...catalog.legacy].map(([name, verb]) => [name, verb.preferred]));
  const texts = (catalog: Catalog): ReadonlyMap<string, string> =>
    new Map([...catalog.legacy].map(([name, { description }]) => [name, description]));
  return {
    added: sorted([...newer.verbs.values()].filter(({ name }) => !older.has(name))),
    removed: sorted([...older.verbs.values()].filter(({ name }) => !newer.has(name))),
    deprecated: pairs.filter((pair) => !isDeprecated(pair.older) && isDeprecated(pair.newer)),
    undeprecated: pairs.filter((pair) => isDeprecated(pair.older) && !isDeprecated(pair.newer)),
    redated: pairs.filter(isRedated),
    recategorised: pairs.filter(isRecategorised),
    redescribed: pairs.filter((pair) => pair.older.description !== pair.newer.description),
    legacy: diffSection(preferred(older), preferred(newer)),
    legacyTexts: diffSection(texts(older), texts(newer)),
    categories: diffSection(older.categories, newer.categories),
  };
}

/** Tells whether a method is on its way out. */
export function isDeprecated(verb: Verb): boolean {
  return verb.deprecatedIn !== undefined;
}

function isRedated({ older, newer }: ChangedVerb): boolean {
  if (isDeprecated(older) !== isDeprecated(newer)) return false;
  return (
    older.deprecatedIn !== newer.deprecatedIn ||
    older.removedIn !== newer.removedIn ||
    older.successor !== newer.successor
  );
}

/** Categories are a set; the order in which they are listed says nothing. */
function isRecategorised({ older, newer }: ChangedVerb): boolean {
  const known = new Set(older.categories);
  return (
    older.categories.length !== newer.categories.length ||
    newer.categories.some((category) => !known.has(category))
  );
}

function diffSection(
  older: ReadonlyMap<string, string>,
  newer: ReadonlyMap<string, string>,
): SectionDiff {
  const added = [...newer.keys()].filter((name) => !older.has(name));
  const removed = [...older.keys()].filter((name) => !newer.has(name));
  const changed = [...older].flatMap(([name, before]): readonly ChangedEntry[] => {
    const after = newer.get(name);
    return after === undefined || after === before ? [] : [{ name, older: before, newer: after }];
  });
  return { added: added.toSorted(), removed: removed.toSorted(), changed };
}

function sorted(verbs: readonly Verb[]): readonly Verb[] {
  return verbs.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * The method to use instead of one that a catalog no longer has: the first announced successor, or
 * successor of one, that the newer catalog has; undefined when none was named.   AGTP-API §4.2
 */
export function successorOf(method: string, older: Catalog, newer: Catalog): string | undefined {
  const seen = new Set<string>();
  let name = method;
  while (!seen.has(name)) {
    seen.add(name);
    const next = (newer.verbs.get(name) ?? older.verbs.get(name))?.successor;
    if (next === undefined || newer.has(next)) return next === method ? undefined : next;
    name = next;
  }
  return undefined;
}
