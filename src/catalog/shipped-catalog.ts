/** The catalog that comes with the product, for a deployment that brings none of its own. */
import { shippedPath } from "../base/shipped-path.ts";

/** Its path. */
export function shippedCatalogPath(): string {
  return shippedPath("catalog/methods.json");
}
