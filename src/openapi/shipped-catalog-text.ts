/** The catalog that methods are chosen from, with the text of its file. */
import { readFileSync } from "node:fs";
import type { Catalog } from "../catalog/catalog.ts";
import { parseCatalog, shippedCatalogPath } from "../catalog/catalog-file.ts";

/** A catalog, and what its file says. */
export interface CatalogText {
  readonly catalog: Catalog;
  readonly text: string;
}

/** The catalog that comes with the product. */
export function loadShippedCatalog(): CatalogText {
  const text = readFileSync(shippedCatalogPath(), "utf8");
  const { catalog } = parseCatalog(text, "catalog/methods.json");
  if (catalog === undefined) throw new Error("the product's own catalog is no catalog");
  return { catalog, text };
}
