/**
 * Reads `[endpoint.deprecated]`. Its values become a header of every response, so they must be ones
 * that a header can carry.   AGTP-API §6.5
 */

import type { TableReader } from "../base/table-reader.ts";
import { checkTemplate } from "../catalog/path-grammar.ts";
import type { EndpointDeprecation } from "./endpoint.ts";
import { readMethod, type Vocabulary } from "./method-rule.ts";

type Successor = NonNullable<EndpointDeprecation["successor"]>;

/** Visible ASCII without the semicolon that separates the parts of the header. */
const VERSION = /^[\x21-\x3a\x3c-\x7e]{1,64}$/;

/** The block; undefined when there is none, or a problem. */
export function readDeprecation(
  endpoint: TableReader,
  vocabulary: Vocabulary,
): EndpointDeprecation | undefined {
  const table = endpoint.optionalTable("deprecated", ["deprecated_in", "removed_in", "successor"]);
  if (table === undefined) return undefined;
  const deprecatedIn = readVersion(table, "deprecated_in");
  const removedIn = table.has("removed_in") ? readVersion(table, "removed_in") : undefined;
  const successor = readSuccessor(table, vocabulary);
  if (deprecatedIn === undefined) return undefined;
  return {
    deprecated_in: deprecatedIn,
    ...(removedIn === undefined ? {} : { removed_in: removedIn }),
    ...(successor === undefined ? {} : { successor }),
  };
}

function readVersion(table: TableReader, name: string): string | undefined {
  const version = table.text(name);
  if (version === undefined || VERSION.test(version)) return version;
  return table.fail(name, `is ${JSON.stringify(version)}, expected a version such as "2.1.0"`);
}

function readSuccessor(table: TableReader, vocabulary: Vocabulary): Successor | undefined {
  const successor = table.optionalTable("successor", ["method", "path"]);
  if (successor === undefined) return undefined;
  const method = successor.has("method") ? readMethod(successor, "method", vocabulary) : undefined;
  const path = successor.optionalText("path");
  const pathFault = path === undefined ? undefined : checkTemplate(path, vocabulary.names);
  if (pathFault !== undefined) successor.fail("path", pathFault.message);
  if (successor.names.length === 0) table.fail("successor", "is empty, expected method or path");
  return {
    ...(method === undefined ? {} : { method }),
    ...(path === undefined ? {} : { path }),
  };
}
