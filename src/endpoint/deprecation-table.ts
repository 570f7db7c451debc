/**
 * Reads `[endpoint.deprecated]`. Its values become a header of every response, so they must be ones
 * that a header can carry.   AGTP-API §6.5
 */

import type { DocumentPlace } from "../base/document-place.ts";
import { checkTemplate } from "../catalog/path-grammar.ts";
import type { EndpointDeprecation } from "./endpoint.ts";
import { DEPRECATION_KEYS } from "./endpoint-file-schema.ts";
import { readMethod, type Vocabulary } from "./method-rule.ts";

type Successor = NonNullable<EndpointDeprecation["successor"]>;

/** Visible ASCII without the semicolon that separates the parts of the header. */
const VERSION = /^[\x21-\x3a\x3c-\x7e]{1,64}$/;

/** The block; undefined when there is none, or a problem. */
export function readDeprecation(
  endpoint: DocumentPlace,
  vocabulary: Vocabulary,
): EndpointDeprecation | undefined {
  const table = endpoint.at("deprecated").optional?.record(Object.keys(DEPRECATION_KEYS));
  if (table === undefined) return undefined;
  const deprecatedIn = readVersion(table.at("deprecated_in"));
  const removedAt = table.at("removed_in").optional;
  const removedIn = removedAt && readVersion(removedAt);
  const successor = readSuccessor(table, vocabulary);
  if (deprecatedIn === undefined) return undefined;
  return {
    deprecated_in: deprecatedIn,
    ...(removedIn === undefined ? {} : { removed_in: removedIn }),
    ...(successor === undefined ? {} : { successor }),
  };
}

function readVersion(place: DocumentPlace): string | undefined {
  const version = place.text();
  if (version === undefined || VERSION.test(version)) return version;
  return place.fail(`is ${JSON.stringify(version)}, expected a version such as "2.1.0"`);
}

function readSuccessor(table: DocumentPlace, vocabulary: Vocabulary): Successor | undefined {
  const successor = table.at("successor").optional?.record(["method", "path"]);
  if (successor === undefined) return undefined;
  const named = successor.at("method").optional;
  const method = named && readMethod(named, vocabulary);
  const path = successor.at("path").optional?.text();
  const pathFault = path === undefined ? undefined : checkTemplate(path, vocabulary.names);
  if (pathFault !== undefined) successor.at("path").fail(pathFault.message);
  if (successor.names.length === 0) table.at("successor").fail("is empty, expected method or path");
  return {
    ...(method === undefined ? {} : { method }),
    ...(path === undefined ? {} : { path }),
  };
}
