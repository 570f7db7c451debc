/** The inventory of methods: the floor, whole, and the server's own.   AGTP-API §3.2, §3.3, §8.4 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { isRecord, quoteValue } from "../../base/json-value.ts";
import { type Catalog, FLOOR_METHODS, isMethodName } from "../../catalog/catalog.ts";
import { isFloorMethod, isHttpVerb } from "./vocabulary.ts";

/** Checks both lists; answers with the server's own methods. */
export function checkMethods(
  manifest: DocumentPlace,
  catalog: Catalog | undefined,
): readonly string[] {
  checkEmbedded(manifest.at("embedded_methods").under("8.4"));
  return checkCustom(manifest.at("custom_methods").under("8.4"), catalog);
}

function checkEmbedded(list: DocumentPlace): void {
  const names = new Set<string>();
  for (const entry of list.items() ?? []) {
    const name = nameOf(entry);
    if (name === undefined) continue;
    if (!isFloorMethod(name)) entry.fail(`${quoteValue(name)} is no floor method`);
    else if (names.has(name)) entry.fail(`${quoteValue(name)} is listed twice`);
    names.add(name);
  }
  const missing = FLOOR_METHODS.filter((name) => !names.has(name));
  if (Array.isArray(list.value) && missing.length > 0) list.fail(`lacks ${missing.join(", ")}`);
}

function checkCustom(list: DocumentPlace, catalog: Catalog | undefined): readonly string[] {
  if (list.isAbsent) return [];
  const names = new Set<string>();
  for (const entry of list.items() ?? []) {
    const name = nameOf(entry);
    if (name === undefined) continue;
    if (!isMethodName(name)) {
      entry
        .under("3.2")
        .fail(`${quoteValue(name)} is no method name, expected 3 to 32 letters A to Z`);
    } else if (isFloorMethod(name) || isHttpVerb(name)) {
      const what = isHttpVerb(name) ? "an HTTP verb" : "a floor method";
      entry.under("3.3").fail(`${quoteValue(name)} is ${what}, and no server's own`);
    } else if (names.has(name)) {
      entry.fail(`${quoteValue(name)} is listed twice`);
    } else if (catalog?.has(name)) {
      entry.under("3.3").warn(`${quoteValue(name)} is in the catalog ${catalog.version} as well`);
    }
    names.add(name);
  }
  return [...names];
}

/** The draft shows neither form: a bare name, or an object that has one. */
function nameOf(entry: DocumentPlace): string | undefined {
  return isRecord(entry.value) ? entry.at("name").text() : entry.text();
}
