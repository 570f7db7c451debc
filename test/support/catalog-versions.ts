/** Versions of the method catalog, made from the real one by what a test says of them. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { parseCatalog } from "../../src/catalog/catalog-file.ts";

/** A catalog as its file has it. */
export interface CatalogJson {
  version: string;
  embedded: string[];
  legacy: Record<string, { preferred: string; description: string }>;
  categories: Record<string, string>;
  verbs: Record<string, VerbJson>;
}

interface VerbJson {
  categories: string[];
  description: string;
  deprecated_in?: string | null;
  removed_in?: string | null;
  successor?: string | null;
}

const REAL = readFileSync(resolve(import.meta.dirname, "../../catalog/methods.json"), "utf8");
/** Enough for the floor, the legacy verbs and what deployments of tests name. */
const KEPT = [
  "FETCH",
  "CREATE",
  "REPLACE",
  "REMOVE",
  "MODIFY",
  "BOOK",
  "RESERVE",
  "SEARCH",
  "SELL",
];

/** A small catalog of version 1.0.0. */
export function catalogJson(change: (catalog: CatalogJson) => void = () => undefined): string {
  const catalog = JSON.parse(REAL) as CatalogJson;
  const names = [...catalog.embedded, ...KEPT];
  catalog.version = "1.0.0";
  catalog.verbs = Object.fromEntries(
    names.map((name) => [name, catalog.verbs[name] ?? makeVerb(`Do ${name}.`)]),
  );
  change(catalog);
  return JSON.stringify(catalog, undefined, 2);
}

/** A method of a test. */
export function makeVerb(description = "Does something.", more: Partial<VerbJson> = {}): VerbJson {
  return { categories: ["transaction"], description, ...more };
}

/** The same as a catalog in memory. */
export function makeCatalog(change?: (catalog: CatalogJson) => void): Catalog {
  const { catalog, problems } = parseCatalog(catalogJson(change), "methods.json");
  if (catalog === undefined) throw new Error(JSON.stringify(problems));
  return catalog;
}
