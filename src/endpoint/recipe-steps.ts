/**
 * Reads `[[recipe.steps]]`: each has a method, a path, and parameters from the caller's input, from
 * an earlier step's output, or constant.   AGTP-API §12.1
 */
import { suggest } from "../base/close-matches.ts";
import type { DocumentPlace } from "../base/document-place.ts";
import { quoteValue } from "../base/json-value.ts";
import { toJson } from "../base/toml-document.ts";
import { checkTemplate, templateParameters } from "../catalog/path-grammar.ts";
import { readMethod, type Vocabulary } from "./method-rule.ts";
import type { ParameterSource, RecipeStep } from "./recipe.ts";
import { SOURCE_KEYS, SOURCE_KINDS, STEP_KEYS } from "./recipe-file-schema.ts";

const CAPTURE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const MAX_STEPS = 64;

/** Reads the steps in order; empty if the list itself has a problem. */
export function readSteps(recipe: DocumentPlace, vocabulary: Vocabulary): readonly RecipeStep[] {
  const tables = recipe.at("steps").records({ known: Object.keys(STEP_KEYS) });
  const isList = !recipe.has("steps") || Array.isArray(recipe.at("steps").value);
  if (tables.length === 0 && isList) recipe.at("steps").fail("has no steps, expected at least one");
  if (tables.length > MAX_STEPS) {
    recipe.at("steps").fail(`has ${tables.length} steps, expected at most ${MAX_STEPS}`);
    return [];
  }
  const captured = new Set<string>();
  const steps: RecipeStep[] = [];
  for (const table of tables) {
    const step = readStep(table, vocabulary, captured);
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

function readStep(
  table: DocumentPlace,
  vocabulary: Vocabulary,
  captured: Set<string>,
): RecipeStep | undefined {
  const method = readMethod(table.at("method"), vocabulary);
  const path = readPath(table, vocabulary);
  const parameters = readParameters(table, captured);
  checkPathParameters(table, path, parameters);
  // Added last, since a step cannot use its own output.
  const captureAs = readCaptureName(table, captured);
  if (method === undefined) return undefined;
  return {
    method,
    path,
    ...(captureAs === undefined ? {} : { captureAs }),
    parameters: Object.fromEntries(parameters),
  };
}

function readPath(table: DocumentPlace, { names }: Vocabulary): string {
  const path = table.at("path").optional?.text() ?? "/";
  const fault = checkTemplate(path, names);
  if (fault !== undefined) table.at("path").fail(fault.message);
  return path;
}

function checkPathParameters(
  table: DocumentPlace,
  path: string,
  parameters: ReadonlyMap<string, ParameterSource>,
): void {
  for (const name of templateParameters(path)) {
    if (parameters.has(name)) continue;
    table.at("path").fail(`{${name}} is not among the parameters of this step`);
  }
}

function readCaptureName(table: DocumentPlace, captured: Set<string>): string | undefined {
  const name = table.at("capture_as").optional?.text();
  if (name === undefined) return undefined;
  if (!CAPTURE_NAME.test(name) || name === "__proto__") {
    return table.at("capture_as").fail(`${quoteValue(name)} is no identifier`);
  }
  if (captured.has(name)) {
    return table
      .at("capture_as")
      .fail(`${quoteValue(name)} is captured by an earlier step already`);
  }
  captured.add(name);
  return name;
}

function readParameters(
  step: DocumentPlace,
  captured: ReadonlySet<string>,
): ReadonlyMap<string, ParameterSource> {
  const sources = new Map<string, ParameterSource>();
  const table = step.at("parameters").optional?.record();
  for (const name of table?.names ?? []) {
    const entry = table?.at(name).record(Object.keys(SOURCE_KEYS));
    const source = entry && readSource(entry, captured);
    if (source !== undefined) sources.set(name, source);
  }
  return sources;
}

function readSource(
  table: DocumentPlace,
  captured: ReadonlySet<string>,
): ParameterSource | undefined {
  const kind = table.at("kind").word(SOURCE_KINDS);
  switch (kind) {
    case undefined:
      return undefined;
    case "constant":
      return readConstant(table);
    case "proposal": {
      const value = table.at("value").text();
      return value === undefined ? undefined : { kind, value };
    }
    case "previous_step":
      return readPreviousStep(table, captured);
  }
}

function readConstant(table: DocumentPlace): ParameterSource | undefined {
  if (!table.has("value")) return table.at("value").fail("is missing, expected any value");
  const value = toJson(table.at("value").value);
  if (value !== undefined) return { kind: "constant", value };
  return table.at("value").fail("is inf, nan or nested too deeply, expected a JSON value");
}

/** Reads `facts`, or `facts.items` for a value within the output captured as `facts`. */
function readPreviousStep(
  table: DocumentPlace,
  captured: ReadonlySet<string>,
): ParameterSource | undefined {
  const value = table.at("value").text();
  if (value === undefined) return undefined;
  const [name = "", ...members] = value.split(".");
  if (members.includes("")) {
    return table.at("value").fail(`${quoteValue(value)} has an empty part between its dots`);
  }
  if (captured.has(name)) return { kind: "previous_step", value };
  const message = `${quoteValue(name)} is captured by no earlier step`;
  return table.at("value").fail(message, suggest(name, captured));
}
