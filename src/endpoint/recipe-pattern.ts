/**
 * Reads `[recipe.pattern]`: which (method, path) pairs a recipe answers for, and which parameters
 * they must have.   AGTP-API §5.8.6, §10.5
 */

import { quoteValue } from "../base/json-value.ts";
import type { TableReader } from "../base/table-reader.ts";
import { checkPath } from "../catalog/path-grammar.ts";
import { compileLinearRegex, type LinearRegex } from "../schema/linear-regex.ts";
import { readMethod, type Vocabulary } from "./method-rule.ts";
import type { RecipePattern } from "./recipe.ts";

const KEYS = ["method_exact", "name_exact", "path_exact", "path_regex", "has_parameters"];
/** Paths come from strangers; a short pattern is one that an operator can oversee. */
const MAX_REGEX_LENGTH = 256;

/** The pattern; undefined when there is none, or a problem. */
export function readPattern(
  recipe: TableReader,
  vocabulary: Vocabulary,
): RecipePattern | undefined {
  const table = recipe.optionalTable("pattern", KEYS);
  if (table === undefined) return undefined;
  const methodExact = readMethodExact(table, vocabulary);
  const pathExact = readPathExact(table, vocabulary);
  const pathRegex = readPathRegex(table);
  if (table.has("path_exact") && table.has("path_regex")) {
    table.fail("path_regex", "stands beside path_exact, expected one of the two");
  }
  const hasParameters = table.texts("has_parameters");
  if (methodExact === undefined) return undefined;
  return {
    methodExact,
    ...(pathExact === undefined ? {} : { pathExact }),
    ...(pathRegex === undefined ? {} : { pathRegex }),
    hasParameters,
  };
}

/** `method_exact`, or `name_exact` as older files call it. */
function readMethodExact(table: TableReader, vocabulary: Vocabulary): string | undefined {
  if (table.has("method_exact") && table.has("name_exact")) {
    table.fail("name_exact", "is another name of method_exact, expected one of the two");
  }
  const key = table.has("name_exact") && !table.has("method_exact") ? "name_exact" : "method_exact";
  return readMethod(table, key, vocabulary);
}

function readPathExact(table: TableReader, { names }: Vocabulary): string | undefined {
  const path = table.optionalText("path_exact");
  if (path === undefined) return undefined;
  const fault = checkPath(path, names);
  return fault === undefined ? path : table.fail("path_exact", fault.message);
}

function readPathRegex(table: TableReader): LinearRegex | undefined {
  const source = table.optionalText("path_regex");
  if (source === undefined) return undefined;
  if (source.length > MAX_REGEX_LENGTH) {
    const message = `is too long, expected at most ${MAX_REGEX_LENGTH} characters`;
    return table.fail("path_regex", message);
  }
  const result = compileLinearRegex(source);
  if (result.kind === "fault") {
    return table.fail("path_regex", `${quoteValue(source)} ${result.message}`);
  }
  if (!source.startsWith("^") || !source.endsWith("$")) {
    const message = `${quoteValue(source)} also matches parts of a path`;
    const hint = 'begin it with "^" and end it with "$"';
    table.report({ ...table.at("path_regex"), message, hint, severity: "warning" });
  }
  return result.regex;
}
