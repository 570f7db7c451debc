/** The files that come with the product, whether it runs from its sources or as it is built. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The path of a file or a folder, by its path in the package. */
export function shippedPath(name: string): string {
  const found = [`../../${name}`, `../../../${name}`]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the product's own ${name} is missing`);
  return found;
}
