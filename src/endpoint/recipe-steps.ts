/**
 * Reads `[[recipe.steps]]`: a method and a path each, and parameters from the caller's input, from
 * the output of an earlier step, or constant.   AGTP-API §12.1
 */
import { suggest } from "../base/close-matches.ts";
import { quoteValue } from "../base/json-value.ts";
import type { TableReader } from "../base/table-reader.ts";
import { toJson } from "../base/toml-document.ts";
import { checkTemplate, templateParameters } from "../catalog/path-grammar.ts";
import { readMethod, type Vocabulary } from "./method-rule.ts";
import type { ParameterSource, RecipeStep } from "./recipe.ts";

const STEP_KEYS = ["method", "path", "capture_as", "parameters"];
const SOURCE_KEYS = ["kind", "value"];
const SOURCE_KINDS = ["proposal", "previous_step", "constant"] as const;
const CAPTURE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const MAX_STEPS = 64;

/** The steps in order; empty when there is a problem with all of them. */
export function readSteps(recipe: TableReader, vocabulary: Vocabulary): readonly RecipeStep[] {
  const tables = recipe.tables("steps", STEP_KEYS);
  const isList = !recipe.has("steps") || Array.isArray(recipe.raw("steps"));
  if (tables.length === 0 && isList) recipe.fail("steps", "has no steps, expected at least one");
  if (tables.length > MAX_STEPS) {
    recipe.fail("steps", `has ${tables.length} steps, expected at most ${MAX_STEPS}`);
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
  table: TableReader,
  vocabulary: Vocabulary,
  captured: Set<string>,
): RecipeStep | undefined {
  const method = readMethod(table, "method", vocabulary);
  const path = readPath(table, vocabulary);
  const parameters = readParameters(table, captured);
  checkPathParameters(table, path, parameters);
  // Only now: a step cannot use its own output.
  const captureAs = readCaptureName(table, captured);
  if (method === undefined) return undefined;
  return {
    method,
    path,
    ...(captureAs === undefined ? {} : { captureAs }),
    parameters: Object.fromEntries(parameters),
  };
}

function readPath(table: TableReader, { names }: Vocabulary): string {
  const path = table.optionalText("path") ?? "/";
  const fault = checkTemplate(path, names);
  if (fault !== undefined) table.fail("path", fault.message);
  return path;
}

function checkPathParameters(
  table: TableReader,
  path: string,
  parameters: ReadonlyMap<string, ParameterSource>,
): void {
  for (const name of templateParameters(path)) {
    if (parameters.has(name)) continue;
    table.fail("path", `{${name}} is not among the parameters of this step`);
  }
}

function readCaptureName(table: TableReader, captured: Set<string>): string | undefined {
  const name = table.optionalText("capture_as");
  if (name === undefined) return undefined;
  if (!CAPTURE_NAME.test(name) || name === "__proto__") {
    return table.fail("capture_as", `${quoteValue(name)} is no identifier`);
  }
  if (captured.has(name)) {
    return table.fail("capture_as", `${quoteValue(name)} is captured by an earlier step already`);
  }
  captured.add(name);
  return name;
}

function readParameters(
  step: TableReader,
  captured: ReadonlySet<string>,
): ReadonlyMap<string, ParameterSource> {
  const sources = new Map<string, ParameterSource>();
  const table = step.optionalTable("parameters");
  for (const name of table?.names ?? []) {
    const entry = table?.table(name, SOURCE_KEYS);
    const source = entry && readSource(entry, captured);
    if (source !== undefined) sources.set(name, source);
  }
  return sources;
}

function readSource(
  table: TableReader,
  captured: ReadonlySet<string>,
): ParameterSource | undefined {
  const kind = table.word("kind", SOURCE_KINDS);
  switch (kind) {
    case undefined:
      return undefined;
    case "constant":
      return readConstant(table);
    case "proposal": {
      const value = table.text("value");
      return value === undefined ? undefined : { kind, value };
    }
    case "previous_step":
      return readPreviousStep(table, captured);
  }
}

function readConstant(table: TableReader): ParameterSource | undefined {
  if (!table.has("value")) return table.fail("value", "is missing, expected any value");
  const value = toJson(table.raw("value"));
  if (value !== undefined) return { kind: "constant", value };
  return table.fail("value", "is inf, nan or nested too deeply, expected a JSON value");
}

/** `facts`, or `facts.items` to reach into what was captured as `facts`. */
function readPreviousStep(
  table: TableReader,
  captured: ReadonlySet<string>,
): ParameterSource | undefined {
  const value = table.text("value");
  if (value === undefined) return undefined;
  const [name = "", ...members] = value.split(".");
  if (members.includes("")) {
    return table.fail("value", `${quoteValue(value)} has an empty part between its dots`);
  }
  if (captured.has(name)) return { kind: "previous_step", value };
  const message = `${quoteValue(name)} is captured by no earlier step`;
  return table.fail("value", message, suggest(name, captured));
}
