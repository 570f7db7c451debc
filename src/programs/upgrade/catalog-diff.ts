/**
 * The differences between two versions of the method catalog, method by method. The order of a file
 * and its JSON formatting do not count.   AGTP-API §4.1, §4.2, §4.7
 */

import semver, { type SemVer } from "semver";
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

/** Every change, each list sorted by name. */
export interface CatalogDiff {
  readonly added: readonly Verb[];
  readonly removed: readonly Verb[];
  /** Methods that are newly deprecated. */
  readonly deprecated: readonly ChangedVerb[];
  readonly undeprecated: readonly ChangedVerb[];
  /** Methods with another announced version or successor, whose deprecation neither began nor ended. */
  readonly redated: readonly ChangedVerb[];
  readonly recategorised: readonly ChangedVerb[];
  readonly redescribed: readonly ChangedVerb[];
  /** HTTP verb to preferred method. */
  readonly legacy: SectionDiff;
  /** HTTP verbs of which only the description changed. */
  readonly legacyTexts: SectionDiff;
  /** Category to description. */
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

function isDeprecated(verb: Verb): boolean {
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

/** Categories are a set, so their order does not count. */
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
 * The replacement of a method that the newer catalog lacks: the first in its chain of announced
 * successors that the newer catalog has; undefined if none is named.   AGTP-API §4.2
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

/** The part of the version that a change requires to be raised. */
type ChangeLevel = "major" | "minor" | "patch" | "none";

/** The part that differs between two versions; `prerelease` if only the text after the dash does. */
type RaisedPart = ChangeLevel | "prerelease" | "lowered";

/** The step that the versions declare, and the one that the content requires. */
export interface VersionVerdict {
  readonly raised: RaisedPart;
  readonly needed: ChangeLevel;
  /** The publisher's errors; empty if the versions are correct. */
  readonly faults: readonly string[];
  /** Unannounced removals, and announcements that were not kept. */
  readonly notes: readonly string[];
}

const RANK: Readonly<Record<ChangeLevel, number>> = { none: 0, patch: 1, minor: 2, major: 3 };
/** The maximum number of names in a message, against hostile catalogs. */
const MAX_NAMED = 20;

/**
 * Checks that the version of `newer` was raised as its changes require: PATCH for texts, MINOR for
 * additions and deprecations, MAJOR for removals. Deviations from announcements are notes.
 * Undefined for invalid versions.   AGTP-API §3.4, §4.1, §4.2
 */
export function judgeVersion(
  older: Catalog,
  newer: Catalog,
  diff: CatalogDiff,
): VersionVerdict | undefined {
  const from = semver.parse(older.version);
  const to = semver.parse(newer.version);
  if (from === null || to === null) return undefined;
  const raised = raisedPart(from, to);
  const needed = neededLevel(diff);
  const faults = levelFaults({ from, to, raised, needed, diff });
  const notes = [...removalNotes(diff.removed, to), ...announcementNotes(newer.verbs.values(), to)];
  return { raised, needed, faults, notes };
}

/** Returns true for a valid version: no part is too large, or has a leading zero. */
export function isSemanticVersion(version: string): boolean {
  return semver.parse(version) !== null;
}

function raisedPart(from: SemVer, to: SemVer): RaisedPart {
  const order = semver.compare(from, to);
  if (order > 0) return "lowered";
  if (from.major !== to.major) return "major";
  if (from.minor !== to.minor) return "minor";
  if (from.patch !== to.patch) return "patch";
  return order === 0 ? "none" : "prerelease";
}

function neededLevel(diff: CatalogDiff): ChangeLevel {
  const has = (...lists: readonly (readonly unknown[])[]): boolean =>
    lists.some((list) => list.length > 0);
  if (has(diff.removed, diff.legacy.removed)) return "major";
  const { added, deprecated, undeprecated, redated, legacy } = diff;
  if (has(added, deprecated, undeprecated, redated, legacy.added, legacy.changed)) return "minor";
  const words = [diff.legacyTexts, diff.categories].flatMap((one) => [
    one.added,
    one.removed,
    one.changed,
  ]);
  return has(diff.recategorised, diff.redescribed, ...words) ? "patch" : "none";
}

interface Raise {
  readonly from: SemVer;
  readonly to: SemVer;
  readonly raised: RaisedPart;
  readonly needed: ChangeLevel;
  readonly diff: CatalogDiff;
}

function levelFaults({ from, to, raised, needed, diff }: Raise): readonly string[] {
  const step = `${from.version} -> ${to.version}`;
  if (raised === "lowered") return [`the version goes back, ${step}`];
  const allowed = raised === "prerelease" ? prereleaseLevel(to) : raised;
  if (RANK[allowed] >= RANK[needed]) return [];
  const wanted = `expected ${nextVersion(from, needed)} or later`;
  if (allowed === "none") return [`the content changed and the version did not, ${wanted}`];
  const excess = [removedNames(diff), allowed === "minor" ? "" : additions(diff)];
  const what = excess.filter((part) => part !== "").join(", ");
  return [`a ${allowed.toUpperCase()} version, ${step}, ${what}; ${wanted}`];
}

/** Between two candidates of 2.0.0 every change is allowed that 2.0.0 allows. */
function prereleaseLevel({ minor, patch }: SemVer): ChangeLevel {
  if (patch > 0) return "patch";
  return minor > 0 ? "minor" : "major";
}

function nextVersion(from: SemVer, needed: ChangeLevel): string {
  return needed === "none" ? from.version : (semver.inc(from.version, needed) ?? from.version);
}

function removedNames({ removed, legacy }: CatalogDiff): string {
  const names = [...removed.map(({ name }) => name), ...legacy.removed];
  return names.length === 0 ? "" : `removes ${list(names)}`;
}

function additions(diff: CatalogDiff): string {
  const changes = [
    ["adds", [...diff.added.map(({ name }) => name), ...diff.legacy.added]],
    ["deprecates", diff.deprecated.map(({ newer }) => newer.name)],
    ["takes back the deprecation of", diff.undeprecated.map(({ newer }) => newer.name)],
    ["changes the deprecation of", diff.redated.map(({ newer }) => newer.name)],
    ["maps anew", diff.legacy.changed.map(({ name }) => name)],
  ] as const;
  return changes
    .filter(([, names]) => names.length > 0)
    .map(([word, names]) => `${word} ${list(names)}`)
    .join(", ");
}

/** A method should be removed only after an announcement, and not before the announced version. */
function removalNotes(removed: readonly Verb[], to: SemVer): readonly string[] {
  const unannounced = removed.filter((verb) => !isDeprecated(verb)).map(({ name }) => name);
  const early = removed.filter(
    ({ removedIn }) => removedIn !== undefined && isAfter(removedIn, to),
  );
  return [
    ...(unannounced.length === 0
      ? []
      : [`removed without having been deprecated before: ${list(unannounced)}`]),
    ...early
      .slice(0, MAX_NAMED)
      .map(({ name, removedIn }) => `${name} is removed before ${removedIn}, as was announced`),
  ];
}

function announcementNotes(verbs: Iterable<Verb>, to: SemVer): readonly string[] {
  const notes: string[] = [];
  for (const { name, deprecatedIn, removedIn } of verbs) {
    if (notes.length >= MAX_NAMED) break;
    if (deprecatedIn === undefined) continue;
    if (isAfter(deprecatedIn, to)) {
      notes.push(`${name} is deprecated in ${deprecatedIn}, which is yet to come`);
    }
    if (removedIn === undefined) continue;
    if (isOverdue(removedIn, to)) notes.push(`${name} was to be removed in ${removedIn}`);
    else if (!isLaterMajor(removedIn, deprecatedIn)) {
      notes.push(`${name} is to be removed in ${removedIn}, which is no MAJOR version later`);
    }
  }
  return notes;
}

/** Compares versions; a candidate of 2.0.0 already counts as 2.0.0, because it lacks the same methods. */
function isAfter(version: string, than: SemVer): boolean {
  const parsed = semver.parse(version);
  return parsed !== null && parsed.compareMain(than) > 0;
}

function isOverdue(removedIn: string, to: SemVer): boolean {
  const parsed = semver.parse(removedIn);
  return parsed !== null && parsed.compareMain(to) <= 0;
}

function isLaterMajor(removedIn: string, deprecatedIn: string): boolean {
  const [removal, deprecation] = [semver.parse(removedIn), semver.parse(deprecatedIn)];
  return removal === null || deprecation === null || removal.major > deprecation.major;
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).join(", ");
  return names.length > MAX_NAMED ? `${shown} and ${names.length - MAX_NAMED} more` : shown;
}
