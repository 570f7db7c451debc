/**
 * Reads a catalog file. Decides whether it is a catalog this server can validate against, and
 * answers with the catalog or with everything that is wrong with it; what is in a file never
 * throws. Any version of the catalog is accepted, and any subset that has the floor.
 * AGTP-API §3.1, §3.2, §4.2
 */
import { readBoundedFile } from "../base/bounded-file.ts";
import { joinKey } from "../base/dotted-key.ts";
import { describeValue, isRecord, type JsonRecord, quoteValue } from "../base/json-value.ts";
import { shippedPath } from "../base/paths.ts";
import type { Problem } from "../base/problem.ts";
import { reasonOf } from "../base/thrown.ts";
import { type Catalog, FLOOR_METHODS, HTTP_VERBS, type LegacyVerb, type Verb } from "./catalog.ts";
import { Findings } from "./findings.ts";
import { readMembers, readText, readVerbs, readVersion } from "./verb-entries.ts";

/** A catalog, unless one of the problems is an error. */
interface CatalogResult {
  readonly catalog: Catalog | undefined;
  readonly problems: readonly Problem[];
}

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const TOO_LARGE = `is larger than ${MAX_FILE_BYTES} bytes`;
const MAX_MEMBERS = 256;
const CATEGORY = /^[a-z][a-z0-9_]{0,63}$/;
const ROOT_KEYS = ["version", "embedded", "legacy", "categories", "verbs", "methods"];
const LEGACY_KEYS = ["preferred", "description"];

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
    return refuseFile(file, `is not JSON: ${reasonOf(error)}`);
  }
  if (!isRecord(root)) return refuseFile(file, `is ${quoteValue(root)}, expected an object`);
  const findings = new Findings(file);
  const catalog = readCatalog(root, findings);
  return { catalog: findings.hasErrors ? undefined : catalog, problems: findings.list() };
}

function refuseFile(file: string, message: string): CatalogResult {
  return { catalog: undefined, problems: [{ file, key: "", message }] };
}

function readCatalog(root: JsonRecord, findings: Findings): Catalog {
  findings.unknownKeys("", root, ROOT_KEYS);
  const version = readVersion(root["version"], "version", findings) ?? "";
  const categories = readCategories(root["categories"], findings);
  const verbs = readVerbs(root, categories, findings);
  const embedded = readEmbedded(root["embedded"], verbs, findings);
  const legacy = readLegacy(root["legacy"], verbs, findings);
  return { version, embedded, legacy, categories, verbs, has: (name) => verbs.has(name) };
}

function readCategories(value: unknown, findings: Findings): ReadonlyMap<string, string> {
  const categories = new Map<string, string>();
  if (isRecord(value) && Object.keys(value).length === 0) {
    findings.error("categories", "is empty, expected at least one category");
  }
  for (const [name, description] of readMembers(value, "categories", MAX_MEMBERS, findings)) {
    const key = joinKey("categories", name);
    if (!CATEGORY.test(name)) {
      findings.error(
        key,
        "is no category name, expected lower-case letters, digits and underscores",
      );
      continue;
    }
    categories.set(name, readText(description, key, findings));
  }
  return categories;
}

function readEmbedded(
  value: unknown,
  verbs: ReadonlyMap<string, Verb>,
  findings: Findings,
): readonly string[] {
  if (!Array.isArray(value)) {
    findings.error("embedded", `${describeValue(value)}, expected the 18 floor methods`);
    return [];
  }
  const floor: ReadonlySet<unknown> = new Set(FLOOR_METHODS);
  const names = new Set<string>();
  for (const [index, name] of value.entries()) {
    const key = `embedded[${index}]`;
    if (typeof name !== "string" || !floor.has(name)) {
      findings.error(key, `${describeValue(name)}, expected a floor method`);
    } else if (names.has(name)) {
      findings.error(key, `${quoteValue(name)} is listed twice`);
    } else {
      names.add(name);
      if (!verbs.has(name)) findings.error(key, `${quoteValue(name)} is not among the verbs`);
    }
  }
  const missing = FLOOR_METHODS.filter((name) => !names.has(name));
  if (missing.length > 0) findings.error("embedded", `${missing.join(", ")} missing`);
  return [...names];
}

function readLegacy(
  value: unknown,
  verbs: ReadonlyMap<string, Verb>,
  findings: Findings,
): ReadonlyMap<string, LegacyVerb> {
  const legacy = new Map<string, LegacyVerb>();
  for (const [name, entry] of readMembers(value, "legacy", MAX_MEMBERS, findings)) {
    const key = joinKey("legacy", name);
    if (!HTTP_VERBS.some((verb) => verb === name)) {
      findings.error(key, `is no legacy verb, expected one of ${HTTP_VERBS.join(", ")}`);
    } else if (!isRecord(entry)) {
      findings.error(key, `${describeValue(entry)}, expected an object`);
    } else {
      findings.unknownKeys(key, entry, LEGACY_KEYS);
      legacy.set(name, {
        preferred: readPreferred(entry["preferred"], `${key}.preferred`, verbs, findings),
        description: readText(entry["description"], `${key}.description`, findings),
      });
    }
  }
  return legacy;
}

function readPreferred(
  value: unknown,
  key: string,
  verbs: ReadonlyMap<string, Verb>,
  findings: Findings,
): string {
  if (typeof value !== "string") {
    findings.error(key, `${describeValue(value)}, expected a verb`);
    return "";
  }
  if (!verbs.has(value)) {
    const message = `${quoteValue(value)} is not in the catalog, expected a verb`;
    findings.unknownName(key, message, value, verbs.keys());
  }
  return value;
}

/** Its path. */
export function shippedCatalogPath(): string {
  return shippedPath("catalog/methods.json");
}
