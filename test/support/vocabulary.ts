/** A small catalog and what goes with it, for tests that need names and not the whole vocabulary. */
import {
  type Catalog,
  FLOOR_METHODS,
  type LegacyVerb,
  type Verb,
} from "../../src/catalog/catalog.ts";
import { methodNames } from "../../src/catalog/path-grammar.ts";
import type { Vocabulary } from "../../src/endpoint/method-rule.ts";

const VERBS = ["BOOK", "RESERVE", "AUDIT", "FETCH", "CREATE", "CANCEL", ...FLOOR_METHODS];
const LEGACY = [
  ["GET", "FETCH"],
  ["POST", "CREATE"],
] as const;

/** Six verbs, the floor, two legacy verbs. */
export function smallCatalog(): Catalog {
  const verbs = new Map(
    VERBS.map((name): [string, Verb] => [
      name,
      { name, categories: ["retrieval"], description: name },
    ]),
  );
  const legacy = new Map(
    LEGACY.map(([name, preferred]): [string, LegacyVerb] => [
      name,
      { preferred, description: name },
    ]),
  );
  return {
    version: "1.0.0",
    embedded: FLOOR_METHODS,
    legacy,
    categories: new Map([["retrieval", "reads"]]),
    verbs,
    has: (name) => verbs.has(name),
  };
}

/** The small catalog with one custom method, FROBNICATE. */
export function smallVocabulary(): Vocabulary {
  const catalog = smallCatalog();
  const custom = ["FROBNICATE"];
  return { catalog, names: methodNames(catalog, custom), customMethods: new Set(custom) };
}
