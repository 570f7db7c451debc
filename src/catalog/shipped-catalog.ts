/** The catalog that comes with the product, for a deployment that brings none of its own. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Its path, whether this module runs as source or as built. */
export function shippedCatalogPath(): string {
  const candidates = ["../../catalog/methods.json", "../../../catalog/methods.json"].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error("the product's own catalog is missing");
  return found;
}
