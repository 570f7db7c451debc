/** Whether the deployment's catalog is the one that came with the product.   AGTP-API §4.1 */
import semver from "semver";
import { loadCatalog } from "../../../catalog/catalog-file.ts";
import { shippedCatalogPath } from "../../../catalog/shipped-catalog.ts";
import type { Check } from "../finding.ts";
import { nameOf } from "../subject.ts";

/** The check `catalog-version`. */
export const catalogVersion: Check = {
  id: "catalog-version",
  asks: "is the catalog of methods the current one?",
  look: (subject) => {
    const { catalog, config } = subject;
    const path = shippedCatalogPath();
    const shipped = loadCatalog(path, path).catalog;
    const [own, current] = [semver.parse(catalog.version), semver.parse(shipped?.version)];
    if (own === null || current === null || semver.eq(own, current)) return [];
    const file = nameOf(subject, config.catalog.file);
    const place = { file, key: "version" };
    if (semver.gt(own, current)) {
      const message = `is ${own}, newer than ${current}, which this agtpd was made with`;
      const remedy = "upgrade agtpd, which may know the new methods better";
      return [{ ...place, severity: "note", message, remedy }];
    }
    const message = `is ${own}, older than ${current}, which came with this agtpd`;
    const remedy = `agtp-catalog-diff ${file} ${path} --against-deployment . says what an upgrade breaks`;
    return [{ ...place, severity: "warning", message, remedy }];
  },
};
