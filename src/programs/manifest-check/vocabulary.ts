/**
 * The method names that a manifest is judged by: those of its catalog where that catalog is at hand,
 * the floor and the HTTP verbs in any case, and the server's own.   AGTP-API §3.2, §3.3, §5.1
 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { quoteValue } from "../../base/json-value.ts";
import { type Catalog, FLOOR_METHODS, HTTP_VERBS, isMethodName } from "../../catalog/catalog.ts";
import { checkTemplate, type MethodNames, methodNames } from "../../catalog/path-grammar.ts";

const HTTP: readonly string[] = HTTP_VERBS;
const FLOOR: readonly string[] = FLOOR_METHODS;

/** The names that this manifest may use. */
export interface ManifestVocabulary {
  /** Undefined where nobody has the catalog that the manifest names. */
  readonly catalog: Catalog | undefined;
  readonly custom: ReadonlySet<string>;
  /** The names that no path may have for a segment. */
  readonly names: MethodNames;
}

/** The vocabulary of a manifest with these methods of its own. */
export function createVocabulary(
  catalog: Catalog | undefined,
  custom: readonly string[],
): ManifestVocabulary {
  const names =
    catalog === undefined
      ? new Set([...FLOOR, ...HTTP, ...custom.filter(isMethodName)].map((one) => one.toLowerCase()))
      : methodNames(catalog, custom);
  return { catalog, custom: new Set(custom), names };
}

/** Tells whether a text is one of the HTTP verbs, which only `legacy` and `aliases` may name. */
export function isHttpVerb(name: string): boolean {
  return HTTP.includes(name);
}

/** Tells whether a text is one of the eighteen floor methods. */
export function isFloorMethod(name: string): boolean {
  return FLOOR.includes(name);
}

/** The method that a place names: by form, by catalog, and no HTTP verb. */
export function readMethod(
  place: DocumentPlace,
  vocabulary: ManifestVocabulary,
): string | undefined {
  const method = place.text();
  if (method === undefined) return undefined;
  if (!isMethodName(method)) return refuseName(place, method);
  if (isHttpVerb(method)) {
    place.under("3.6").fail(`${quoteValue(method)} is a legacy verb, which no definition may use`);
    return undefined;
  }
  const { catalog, custom } = vocabulary;
  if (catalog === undefined || catalog.has(method) || custom.has(method)) return method;
  const fault = `is neither in the catalog ${catalog.version} nor among custom_methods`;
  place.under("6.4").fail(`${quoteValue(method)} ${fault}`);
  return undefined;
}

/** Reports a text that no method is called by. */
export function refuseName(place: DocumentPlace, name: string): undefined {
  const expected = "expected 3 to 32 letters A to Z";
  return place.under("3.2").fail(`${quoteValue(name)} is no method name, ${expected}`);
}

/** The path template that a place holds. */
export function readTemplate(
  place: DocumentPlace | undefined,
  { names }: ManifestVocabulary,
): string | undefined {
  const path = place?.text();
  const fault = path === undefined ? undefined : checkTemplate(path, names);
  return fault === undefined ? path : place?.under("5.1").fail(fault.message);
}
