/**
 * Reads the verbs of a catalog file: names by the lexical rule, categories among the file's own,
 * deprecation metadata with a successor that exists.   AGTP-API §3.1, §3.2, §4.2
 */
import { joinKey } from "../base/dotted-key.ts";
import { describeValue, isRecord, type JsonRecord, quoteValue } from "../base/json-value.ts";
import { HTTP_VERBS, isMethodName, type Verb } from "./catalog.ts";
import type { Findings } from "./findings.ts";

const MAX_VERSION_LENGTH = 64;
const VERSION =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** A semantic version.   AGTP-API §4.1 */
export function readVersion(value: unknown, key: string, findings: Findings): string | undefined {
  if (typeof value === "string" && value.length <= MAX_VERSION_LENGTH && VERSION.test(value)) {
    return value;
  }
  findings.error(key, `${describeValue(value)}, expected a version such as "1.0.0"`);
  return undefined;
}

/** A text that is not blank. */
export function readText(value: unknown, key: string, findings: Findings): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  findings.error(key, `${describeValue(value)}, expected a sentence`);
  return "";
}

/** The members of an object, in order. */
export function readMembers(
  value: unknown,
  key: string,
  limit: number,
  findings: Findings,
): readonly (readonly [string, unknown])[] {
  if (!isRecord(value)) {
    findings.error(key, `${describeValue(value)}, expected an object`);
    return [];
  }
  const members = Object.entries(value);
  if (members.length <= limit) return members;
  findings.error(key, `has ${members.length} members, expected at most ${limit}`);
  return [];
}

const MAX_VERBS = 4096;
const VERB_KEYS = ["categories", "description", "deprecated_in", "removed_in", "successor"];

/** The verbs of a catalog, under `verbs` or, as some catalogs have it, `methods`. */
export function readVerbs(
  root: JsonRecord,
  categories: ReadonlyMap<string, string>,
  findings: Findings,
): ReadonlyMap<string, Verb> {
  const section = "methods" in root && !("verbs" in root) ? "methods" : "verbs";
  if ("methods" in root && "verbs" in root) {
    findings.error("methods", 'is another name of "verbs", expected one of the two');
  }
  const verbs = new Map<string, Verb>();
  for (const [name, entry] of readMembers(root[section], section, MAX_VERBS, findings)) {
    const verb = readVerb(name, entry, { section, categories, findings });
    if (verb !== undefined) verbs.set(name, verb);
  }
  for (const { name, successor } of verbs.values()) {
    if (successor === undefined || verbs.has(successor)) continue;
    const message = `${quoteValue(successor)} is not in the catalog, expected a verb`;
    findings.unknownName(`${section}.${name}.successor`, message, successor, verbs.keys());
  }
  return verbs;
}

interface VerbContext {
  readonly section: string;
  readonly categories: ReadonlyMap<string, string>;
  readonly findings: Findings;
}

function readVerb(name: string, entry: unknown, context: VerbContext): Verb | undefined {
  const { section, findings } = context;
  const key = joinKey(section, name);
  if (!isMethodName(name)) {
    findings.error(key, "is no method name, expected 3 to 32 letters A to Z");
    return undefined;
  }
  if (HTTP_VERBS.some((verb) => verb === name)) {
    findings.error(key, 'is an HTTP verb, which belongs under "legacy"');
    return undefined;
  }
  if (!isRecord(entry)) {
    findings.error(key, `${describeValue(entry)}, expected an object`);
    return undefined;
  }
  findings.unknownKeys(key, entry, VERB_KEYS);
  return {
    name,
    categories: readVerbCategories(entry["categories"], `${key}.categories`, context),
    description: readText(entry["description"], `${key}.description`, findings),
    ...readDeprecation(entry, key, findings),
  };
}

function readVerbCategories(
  value: unknown,
  key: string,
  { categories, findings }: VerbContext,
): readonly string[] {
  if (!Array.isArray(value)) {
    findings.error(key, `${describeValue(value)}, expected a list of categories`);
    return [];
  }
  // Without categories there is a problem already, and no use in repeating it for every verb.
  if (categories.size === 0) return [];
  if (value.length === 0 || value.length > categories.size) {
    findings.error(key, `has ${value.length} members, expected 1 to ${categories.size}`);
    return [];
  }
  const names = new Set<string>();
  for (const [index, name] of value.entries()) {
    const place = `${key}[${index}]`;
    if (typeof name !== "string") {
      findings.error(place, `${describeValue(name)}, expected the name of a category`);
    } else if (!categories.has(name)) {
      const message = `${quoteValue(name)} is not among the categories`;
      findings.unknownName(place, message, name, categories.keys());
    } else if (names.has(name)) {
      findings.error(place, `${quoteValue(name)} is listed twice`);
    } else {
      names.add(name);
    }
  }
  return [...names];
}

type Deprecation = Pick<Verb, "deprecatedIn" | "removedIn" | "successor">;

function readDeprecation(entry: JsonRecord, key: string, findings: Findings): Deprecation {
  const deprecatedIn = readOptionalVersion(
    entry["deprecated_in"],
    `${key}.deprecated_in`,
    findings,
  );
  const removedIn = readOptionalVersion(entry["removed_in"], `${key}.removed_in`, findings);
  const successor = readSuccessor(entry["successor"], `${key}.successor`, findings);
  if (entry["deprecated_in"] === undefined && (removedIn ?? successor) !== undefined) {
    findings.warn(key, 'has no "deprecated_in", so nothing announces its deprecation');
  }
  return {
    ...(deprecatedIn === undefined ? {} : { deprecatedIn }),
    ...(removedIn === undefined ? {} : { removedIn }),
    ...(successor === undefined ? {} : { successor }),
  };
}

/** null says the same as absence; published catalogs write both. */
function readOptionalVersion(value: unknown, key: string, findings: Findings): string | undefined {
  return value === undefined || value === null ? undefined : readVersion(value, key, findings);
}

function readSuccessor(value: unknown, key: string, findings: Findings): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  findings.error(key, `${describeValue(value)}, expected a verb`);
  return undefined;
}
