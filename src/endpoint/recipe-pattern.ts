/**
 * Reads `[recipe.pattern]`: which (method, path) pairs a recipe answers for, and which parameters
 * they must have.   AGTP-API §5.8.6, §10.5
 */

import type { DocumentPlace } from "../base/document-place.ts";
import { quoteValue } from "../base/json-value.ts";
import { checkPath } from "../catalog/path-grammar.ts";
import { compileLinearRegex, type LinearRegex } from "../schema/linear-regex.ts";
import { readMethod, type Vocabulary } from "./method-rule.ts";
import type { RecipePattern } from "./recipe.ts";
import { PATTERN_KEYS } from "./recipe-file-schema.ts";

/** Paths come from strangers; a short pattern is one that an operator can oversee. */
const MAX_REGEX_LENGTH = 256;

/** The pattern; undefined when there is none, or a problem. */
export function readPattern(
  recipe: DocumentPlace,
  vocabulary: Vocabulary,
): RecipePattern | undefined {
  const table = recipe.at("pattern").optional?.record(Object.keys(PATTERN_KEYS));
  if (table === undefined) return undefined;
  const methodExact = readMethodExact(table, vocabulary);
  const pathExact = readPathExact(table, vocabulary);
  const pathRegex = readPathRegex(table);
  if (table.has("path_exact") && table.has("path_regex")) {
    table.at("path_regex").fail("stands beside path_exact, expected one of the two");
  }
  const hasParameters = table.at("has_parameters").texts();
  if (methodExact === undefined) return undefined;
  return {
    methodExact,
    ...(pathExact === undefined ? {} : { pathExact }),
    ...(pathRegex === undefined ? {} : { pathRegex }),
    hasParameters,
  };
}

/** `method_exact`, or `name_exact` as older files call it. */
function readMethodExact(table: DocumentPlace, vocabulary: Vocabulary): string | undefined {
  if (table.has("method_exact") && table.has("name_exact")) {
    table.at("name_exact").fail("is another name of method_exact, expected one of the two");
  }
  const key = table.has("name_exact") && !table.has("method_exact") ? "name_exact" : "method_exact";
  return readMethod(table.at(key), vocabulary);
}

function readPathExact(table: DocumentPlace, { names }: Vocabulary): string | undefined {
  const path = table.at("path_exact").optional?.text();
  if (path === undefined) return undefined;
  const fault = checkPath(path, names);
  return fault === undefined ? path : table.at("path_exact").fail(fault.message);
}

function readPathRegex(table: DocumentPlace): LinearRegex | undefined {
  const source = table.at("path_regex").optional?.text();
  if (source === undefined) return undefined;
  if (source.length > MAX_REGEX_LENGTH) {
    const message = `is too long, expected at most ${MAX_REGEX_LENGTH} characters`;
    return table.at("path_regex").fail(message);
  }
  const result = compileLinearRegex(source);
  if (result.kind === "fault") {
    return table.at("path_regex").fail(`${quoteValue(source)} ${result.message}`);
  }
  if (!source.startsWith("^") || !source.endsWith("$")) {
    const message = `${quoteValue(source)} also matches parts of a path`;
    const hint = 'begin it with "^" and end it with "$"';
    table.at("path_regex").warn(message, hint);
  }
  return result.regex;
}
