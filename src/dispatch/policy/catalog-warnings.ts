/** Warnings in responses about methods that the catalog is about to lose.   AGTP-API §4.4 */
import { type Catalog, catalogWarning } from "../../catalog/catalog.ts";

/** The AGTP-Catalog-Warning of every deprecated method. */
export function compileCatalogWarnings(catalog: Catalog): ReadonlyMap<string, string> {
  const warnings = new Map<string, string>();
  for (const verb of catalog.verbs.values()) {
    const warning = catalogWarning(verb);
    if (warning !== undefined) warnings.set(verb.name, warning);
  }
  return warnings;
}
