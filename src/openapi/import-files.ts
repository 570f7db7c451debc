/** The files of an imported API, and what is reported about them. */

import type { JsonRecord } from "../base/json-value.ts";
import { methodNames } from "../catalog/path-grammar.ts";
import { configText, envText } from "./config-text.ts";
import { httpRedirects } from "./http-redirects.ts";
import type { ImportedDocument } from "./import-document.ts";
import type { Review } from "./import-operation.ts";
import { reviewText } from "./review-text.ts";
import type { CatalogText } from "./shipped-catalog-text.ts";

/** A file of a deployment. */
export interface ImportedFile {
  /** Relative to the deployment directory. */
  readonly path: string;
  readonly content: string;
}

/** Every file of the deployment. */
export function importFiles(
  imported: ImportedDocument,
  warnings: readonly string[],
  catalog: CatalogText,
): readonly ImportedFile[] {
  const names = methodNames(catalog.catalog, []);
  const redirects = httpRedirects(imported.endpoints, catalog.catalog, names);
  return [
    { path: "agtp-server.toml", content: configText(imported, redirects) },
    // The vocabulary that methods were chosen from, so that the next one is the operator's decision.
    { path: "catalog/methods.json", content: catalog.text },
    { path: ".env.example", content: envText(imported.variables) },
    { path: "REVIEW.md", content: reviewText(imported, warnings) },
    ...imported.endpoints.map(({ file, text }) => ({ path: file, content: text })),
  ];
}

/** The report of `--json`. */
export function importReport(imported: ImportedDocument, warnings: readonly string[]): JsonRecord {
  return {
    title: imported.title,
    version: imported.version,
    base_urls: imported.baseUrls,
    endpoints: imported.endpoints.map(({ operation, file, method, path, reviews }) => ({
      file,
      method,
      path,
      operation: `${operation.httpMethod} ${operation.path}`,
      ...(operation.id === undefined ? {} : { operation_id: operation.id }),
      review: reviews,
    })),
    left_out: imported.leftOut,
    variables: imported.variables,
    notes: [...imported.notes, ...warnings],
  };
}

/** Marked in every draft, since no document can say them. */
const STANDING_MARKS: ReadonlySet<string> = new Set([
  "endpoint.semantic.impact",
  "endpoint.semantic.outcome",
]);

/** Tells whether somebody has to judge more than what always has to be. */
export function needsReview({ endpoints, leftOut }: ImportedDocument): boolean {
  const isOpen = ({ key }: Review): boolean => !STANDING_MARKS.has(key);
  return leftOut.length > 0 || endpoints.some(({ reviews }) => reviews.some(isOpen));
}
