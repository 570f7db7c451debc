/**
 * Reads and checks a catalog file: returns the catalog or every problem with it, and never throws
 * because of the file's content. Any version of the catalog is accepted, and any subset with the
 * floor.   AGTP-API §3.1, §3.2, §4.1, §4.2
 */
import { readBoundedFile } from "../base/bounded-file.ts";
import { suggest } from "../base/close-matches.ts";
import { DocumentPlace, type DocumentReader, type Remark } from "../base/document-place.ts";
import { type DocumentStyle, JSON_STYLE, TOML_STYLE } from "../base/document-style.ts";
import { describeValue, isRecord, quoteValue } from "../base/json-value.ts";
import { shippedPath } from "../base/paths.ts";
import type { Problem } from "../base/problem.ts";
import { findRepeatedMember } from "../base/repeated-member.ts";
import { reasonOf } from "../base/thrown.ts";
import {
  type Catalog,
  FLOOR_METHODS,
  HTTP_VERBS,
  isMethodName,
  type LegacyVerb,
  type Verb,
} from "./catalog.ts";

/** The catalog, undefined if a problem is an error. */
interface CatalogResult {
  readonly catalog: Catalog | undefined;
  readonly problems: readonly Problem[];
}

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const TOO_LARGE = `is larger than ${MAX_FILE_BYTES} bytes`;
const MAX_MEMBERS = 256;
const MAX_VERBS = 4096;
const CATEGORY = /^[a-z][a-z0-9_]{0,63}$/;
const ROOT_KEYS = ["version", "embedded", "legacy", "categories", "verbs", "methods"];
const LEGACY_KEYS = ["preferred", "description"];
const VERB_KEYS = ["categories", "description", "deprecated_in", "removed_in", "successor"];
const MAX_VERSION_LENGTH = 64;
const VERSION =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** Returns the path of the shipped catalog. */
export function shippedCatalogPath(): string {
  return shippedPath("catalog/methods.json");
}

/** Reads the catalog at `path`; problems name it `file`. */
export function loadCatalog(path: string, file: string): CatalogResult {
  const { text, fault } = readBoundedFile(path, MAX_FILE_BYTES);
  return fault === undefined ? parseCatalog(text, file) : refuseFile(file, fault);
}

/** Checks the text of a catalog; problems name it `file`. */
export function parseCatalog(text: string, file: string): CatalogResult {
  if (text.length > MAX_FILE_BYTES) return refuseFile(file, TOO_LARGE);
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (error) {
    return refuseFile(file, `is not JSON: ${describeJsonFault(error, text)}`);
  }
  const repeated = findRepeatedMember(text);
  if (repeated !== undefined) {
    return refuseFile(file, `has the member ${quoteValue(repeated)} twice in one object`);
  }
  if (!isRecord(root)) return refuseFile(file, `is ${quoteValue(root)}, expected an object`);
  const findings = new Findings();
  const position = { file, key: "", name: "", clause: "" };
  const catalog = readCatalog(new DocumentPlace(root, position, findings), findings);
  const problems = findings.list(file);
  return { catalog: findings.hasErrors ? undefined : catalog, problems };
}

/** Describes a JSON fault on one line, with the line of the file if the parser only gives an offset. */
function describeJsonFault(error: unknown, text: string): string {
  const reason = reasonOf(error).replaceAll(/\s+/g, " ");
  const [, position] = / at position (\d+)$/.exec(reason) ?? [];
  if (position === undefined) return reason;
  const lines = text.slice(0, Number(position)).split("\n");
  return `${reason} (line ${lines.length} column ${(lines.at(-1)?.length ?? 0) + 1})`;
}

function refuseFile(file: string, message: string): CatalogResult {
  return { catalog: undefined, problems: [{ file, key: "", message }] };
}

const MAX_PROBLEMS = 200;

/** Collects problems. The file may be hostile, so problems past the limit are only counted, and get no hint. */
class Findings implements DocumentReader {
  readonly style: DocumentStyle = { ...JSON_STYLE, keyOf: TOML_STYLE.keyOf, text: "a sentence" };
  readonly #problems: Problem[] = [];
  #count = 0;
  /** True if a problem prevents the use of the file. */
  hasErrors = false;

  report({ clause: _, ...problem }: Remark): boolean {
    this.#count += 1;
    this.hasErrors ||= problem.severity !== "warning";
    if (this.#count <= MAX_PROBLEMS) this.#problems.push(problem);
    return true;
  }

  /** Suggests the known name that was probably meant. */
  hintFor(name: string, known: Iterable<string>): string | undefined {
    return this.#count >= MAX_PROBLEMS ? undefined : suggest(name, known);
  }

  /** Lists the problems in order; the last one counts those past the limit. */
  list(file: string): readonly Problem[] {
    if (this.#count <= MAX_PROBLEMS) return this.#problems;
    const message = `${this.#count - MAX_PROBLEMS} more problems are not listed`;
    const severity = this.hasErrors ? "error" : "warning";
    return [...this.#problems, { file, key: "", message, severity }];
  }
}

function readCatalog(root: DocumentPlace, findings: Findings): Catalog {
  warnOfUnknownKeys(root, ROOT_KEYS, findings);
  const version = readVersion(root.at("version")) ?? "";
  const categories = readCategories(root.at("categories"));
  const verbs = readVerbs(root, categories, findings);
  const embedded = readEmbedded(root.at("embedded"), verbs);
  const legacy = readLegacy(root.at("legacy"), verbs, findings);
  return { version, embedded, legacy, categories, verbs, has: (name) => verbs.has(name) };
}

/** Warns of every member that is not read. */
function warnOfUnknownKeys(
  place: DocumentPlace,
  known: readonly string[],
  findings: Findings,
): void {
  for (const name of place.names) {
    if (known.includes(name)) continue;
    place.at(name).warn("unknown key, ignored", findings.hintFor(name, known));
  }
}

/** Returns the members of an object, in order. */
function readMembers(place: DocumentPlace, most: number): readonly DocumentPlace[] {
  const { names } = place;
  if (place.record() !== undefined && names.length > most) {
    place.fail(`has ${names.length} members, expected at most ${most}`);
    return [];
  }
  return names.map((name) => place.at(name));
}

function expect(place: DocumentPlace, what: string): undefined {
  return place.fail(`${describeValue(place.value)}, expected ${what}`);
}

/** Reads a semantic version.   AGTP-API §4.1 */
function readVersion(place: DocumentPlace): string | undefined {
  const { value } = place;
  const isShort = typeof value === "string" && value.length <= MAX_VERSION_LENGTH;
  return isShort && VERSION.test(value) ? value : expect(place, 'a version such as "1.0.0"');
}

function readCategories(place: DocumentPlace): ReadonlyMap<string, string> {
  const categories = new Map<string, string>();
  if (isRecord(place.value) && place.names.length === 0) {
    place.fail("is empty, expected at least one category");
  }
  for (const category of readMembers(place, MAX_MEMBERS)) {
    if (CATEGORY.test(category.name)) categories.set(category.name, category.text() ?? "");
    else {
      const expected = "expected lower-case letters, digits and underscores";
      category.fail(`is no category name, ${expected}`);
    }
  }
  return categories;
}

/** Reads the verbs of a catalog, under `verbs` or, in some catalogs, `methods`. */
function readVerbs(
  root: DocumentPlace,
  categories: ReadonlyMap<string, string>,
  findings: Findings,
): ReadonlyMap<string, Verb> {
  const [isOld, isNew] = ["methods", "verbs"].map((name) => root.names.includes(name));
  if (isOld && isNew) {
    root.at("methods").fail('is another name of "verbs", expected one of the two');
  }
  const section = root.at(isOld && !isNew ? "methods" : "verbs");
  const verbs = new Map<string, Verb>();
  for (const entry of readMembers(section, MAX_VERBS)) {
    const verb = readVerb(entry, categories, findings);
    if (verb !== undefined) verbs.set(entry.name, verb);
  }
  for (const { name, successor } of verbs.values()) {
    if (successor === undefined) continue;
    checkKnown(
      section.at(name).at("successor"),
      "in the catalog, expected a verb",
      verbs,
      findings,
    );
  }
  return verbs;
}

/** Reports an unknown name. */
function checkKnown(
  place: DocumentPlace,
  where: string,
  known: ReadonlyMap<string, unknown>,
  findings: Findings,
): void {
  const name = String(place.value);
  if (known.has(name)) return;
  place.fail(`${quoteValue(name)} is not ${where}`, findings.hintFor(name, known.keys()));
}

function readVerb(
  entry: DocumentPlace,
  categories: ReadonlyMap<string, string>,
  findings: Findings,
): Verb | undefined {
  const { name } = entry;
  if (!isMethodName(name)) {
    return entry.fail("is no method name, expected 3 to 32 letters A to Z");
  }
  if (HTTP_VERBS.some((verb) => verb === name)) {
    return entry.fail('is an HTTP verb, which belongs under "legacy"');
  }
  if (entry.record() === undefined) return undefined;
  warnOfUnknownKeys(entry, VERB_KEYS, findings);
  return {
    name,
    categories: readVerbCategories(entry.at("categories"), categories, findings),
    description: entry.at("description").text() ?? "",
    ...readDeprecation(entry),
  };
}

function readVerbCategories(
  place: DocumentPlace,
  categories: ReadonlyMap<string, string>,
  findings: Findings,
): readonly string[] {
  const items = place.items("a list of categories");
  // Without categories there is already a problem, which need not be repeated for each verb.
  if (items === undefined || categories.size === 0) return [];
  if (items.length === 0 || items.length > categories.size) {
    place.fail(`has ${items.length} members, expected 1 to ${categories.size}`);
    return [];
  }
  const names = new Set<string>();
  for (const item of items) {
    const { value: name } = item;
    if (typeof name !== "string") expect(item, "the name of a category");
    else if (!categories.has(name)) checkKnown(item, "among the categories", categories, findings);
    else if (names.has(name)) item.fail(`${quoteValue(name)} is listed twice`);
    else names.add(name);
  }
  return [...names];
}

/** Reads the deprecation; null means absence, since published catalogs write both. */
function readDeprecation(entry: DocumentPlace): Partial<Verb> {
  const [deprecatedIn, removedIn] = ["deprecated_in", "removed_in"].map((name) => {
    const version = entry.at(name).optional;
    return version && readVersion(version);
  });
  const named = entry.at("successor").optional;
  const successor =
    typeof named?.value === "string" ? named.value : named && expect(named, "a verb");
  if (!entry.names.includes("deprecated_in") && (removedIn ?? successor) !== undefined) {
    entry.warn('has no "deprecated_in", so nothing announces its deprecation');
  }
  return {
    ...(deprecatedIn === undefined ? {} : { deprecatedIn }),
    ...(removedIn === undefined ? {} : { removedIn }),
    ...(successor === undefined ? {} : { successor }),
  };
}

function readEmbedded(place: DocumentPlace, verbs: ReadonlyMap<string, Verb>): readonly string[] {
  const items = place.items("the 18 floor methods");
  if (items === undefined) return [];
  const floor: ReadonlySet<unknown> = new Set(FLOOR_METHODS);
  const names = new Set<string>();
  for (const item of items) {
    const { value: name } = item;
    if (typeof name !== "string" || !floor.has(name)) expect(item, "a floor method");
    else if (names.has(name)) item.fail(`${quoteValue(name)} is listed twice`);
    else {
      names.add(name);
      if (!verbs.has(name)) item.fail(`${quoteValue(name)} is not among the verbs`);
    }
  }
  const missing = FLOOR_METHODS.filter((name) => !names.has(name));
  if (missing.length > 0) place.fail(`${missing.join(", ")} missing`);
  return [...names];
}

function readLegacy(
  place: DocumentPlace,
  verbs: ReadonlyMap<string, Verb>,
  findings: Findings,
): ReadonlyMap<string, LegacyVerb> {
  const legacy = new Map<string, LegacyVerb>();
  for (const entry of readMembers(place, MAX_MEMBERS)) {
    if (!HTTP_VERBS.some((verb) => verb === entry.name)) {
      entry.fail(`is no legacy verb, expected one of ${HTTP_VERBS.join(", ")}`);
    } else if (entry.record() !== undefined) {
      warnOfUnknownKeys(entry, LEGACY_KEYS, findings);
      const preferred = entry.at("preferred");
      if (typeof preferred.value !== "string") expect(preferred, "a verb");
      else checkKnown(preferred, "in the catalog, expected a verb", verbs, findings);
      const description = entry.at("description").text() ?? "";
      legacy.set(entry.name, { preferred: String(preferred.value), description });
    }
  }
  return legacy;
}
