/**
 * Decides which methods an endpoint or a recipe may name: those of the catalog and the server's
 * custom ones. A legacy verb, a removed verb and an unknown name are problems with a way out.
 * AGTP-API §3.2, §3.3, §3.6, §4.5
 */

import { suggest } from "../base/close-matches.ts";
import type { DocumentPlace } from "../base/document-place.ts";
import { quoteValue } from "../base/json-value.ts";
import { type Catalog, isMethodName } from "../catalog/catalog.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";

/** The method names that a server knows. */
export interface Vocabulary {
  readonly catalog: Catalog;
  /** As the path grammar compares them. */
  readonly names: MethodNames;
  /** `policies.methods.custom`. */
  readonly customMethods: ReadonlySet<string>;
}

interface MethodFault {
  readonly message: string;
  readonly hint?: string;
}

/** The method that a place names, required; nothing and a problem where no file may name it. */
export function readMethod(place: DocumentPlace, vocabulary: Vocabulary): string | undefined {
  const method = place.text();
  if (method === undefined) return undefined;
  const fault = checkMethod(method, vocabulary);
  return fault === undefined ? method : place.fail(fault.message, fault.hint);
}

function checkMethod(method: string, vocabulary: Vocabulary): MethodFault | undefined {
  const { catalog, customMethods } = vocabulary;
  const quoted = quoteValue(method);
  const legacy = catalog.legacy.get(method);
  if (legacy !== undefined) {
    return {
      message: `${quoted} is a legacy verb, which no new definition may use`,
      hint: `use ${legacy.preferred}`,
    };
  }
  if (!isMethodName(method)) {
    const upper = method.toUpperCase();
    const message = `${quoted} is no method name, expected 3 to 32 letters A to Z`;
    return catalog.has(upper) ? { message, hint: `did you mean ${upper}?` } : { message };
  }
  if (catalog.has(method) || customMethods.has(method)) return undefined;
  const message = `${quoted} is not in the method catalog at version ${catalog.version}`;
  const hint = suggest(method, [...catalog.verbs.keys(), ...customMethods]);
  return hint === undefined ? { message } : { message, hint };
}
