/**
 * Reads recipe files: the pattern, the steps and the source of each parameter. Returns the valid
 * recipes, and the problems of all others. Steps are resolved to endpoints when compositions are
 * bound.   AGTP-API §10.5, §12.1
 */
import { readingFiles } from "../base/deployment-files.ts";
import { type DocumentPlace, documentAt } from "../base/document-place.ts";
import { given, quoteValue } from "../base/json-value.ts";
import type { Paced } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import { parseToml } from "../base/toml-document.ts";
import { checkPath } from "../catalog/path-grammar.ts";
import { compileLinearRegex, type LinearRegex } from "../schema/linear-regex.ts";
import type { SemanticBlock } from "./endpoint.ts";
import { SEMANTIC_KEYS } from "./endpoint-file-schema.ts";
import { readMethod, readRequiredScopes, type Vocabulary } from "./method-rule.ts";
import type { AggregationMode, Recipe, RecipePattern } from "./recipe.ts";
import { AGGREGATION_MODES, PATTERN_KEYS, RECIPE_KEYS } from "./recipe-file-schema.ts";
import { readSteps } from "./recipe-steps.ts";
import { readSemanticBlock } from "./semantic-block.ts";

interface RecipeFile {
  readonly recipes: readonly Recipe[];
  readonly problems: readonly Problem[];
}

/** The recipes directory, and the vocabulary to check against. */
interface RecipesSource extends Vocabulary {
  /** The deployment directory, as an absolute path. */
  readonly directory: string;
  /** The recipes directory, absolute or relative to the deployment directory. */
  readonly recipesDir: string;
}

const MAX_RECIPES = 256;

/** Loads recipes, one file a step. */
export function* loadingRecipes(
  source: RecipesSource,
): Paced<{ readonly recipes: ReadonlyMap<string, Recipe>; readonly problems: readonly Problem[] }> {
  const { files, problems: unreadable } = yield* readingFiles({
    directory: source.directory,
    dir: source.recipesDir,
    defaultDir: "recipes",
    suffix: ".toml",
    recursive: false,
  });
  const problems: Problem[] = [...unreadable];
  const recipes = new Map<string, Recipe>();
  for (const { file, text } of files) {
    yield;
    const parsed = parseRecipeFile(text, file, source);
    problems.push(...parsed.problems);
    for (const recipe of parsed.recipes) {
      const other = recipes.get(recipe.name);
      if (other === undefined) recipes.set(recipe.name, recipe);
      else problems.push(duplicate(recipe, other));
    }
  }
  return { recipes, problems };
}

function duplicate({ file, name }: Recipe, other: Recipe): Problem {
  const hint = `the other one is in ${other.file}`;
  return {
    file,
    key: "recipe.name",
    message: `${quoteValue(name)} is the name of two recipes`,
    hint,
  };
}

/** Reads the text of one recipe file; problems name it `file`. */
export function parseRecipeFile(text: string, file: string, vocabulary: Vocabulary): RecipeFile {
  const { table, fault } = parseToml(text);
  if (fault !== undefined) return { recipes: [], problems: [{ file, key: "", message: fault }] };
  const problems: Problem[] = [];
  const recipes: Recipe[] = [];
  const root = documentAt(table, { file, key: "" }, problems);
  root.record(["recipe"]);
  if (!root.has("recipe")) root.at("recipe").fail("is missing, expected tables as in [[recipe]]");
  const entries = root.at("recipe").records();
  if (entries.length > MAX_RECIPES) {
    root
      .at("recipe")
      .fail(`has ${entries.length} recipes, expected at most ${MAX_RECIPES} in a file`);
    return { recipes, problems };
  }
  // Each recipe collects its own problems, so that a bad one does not remove the others.
  for (const entry of entries) {
    const found: Problem[] = [];
    const recipe = readRecipe(documentAt(entry.value, entry, found), vocabulary);
    problems.push(...found);
    if (recipe !== undefined && !found.some(isError)) recipes.push(recipe);
  }
  return { recipes, problems };
}

function readRecipe(table: DocumentPlace, vocabulary: Vocabulary): Recipe | undefined {
  table.record(Object.keys(RECIPE_KEYS));
  const name = table.at("name").text();
  const version = readVersion(table);
  const description = table.at("description").optional?.text() ?? "";
  const requiredScopes = readRequiredScopes(table);
  const pattern = readPattern(table, vocabulary);
  const semantic = readSemantic(table);
  const steps = readSteps(table, vocabulary);
  const aggregation = readAggregation(table);
  if (name === undefined || version === undefined) return undefined;
  return {
    file: table.file,
    name,
    version,
    description,
    requiredScopes,
    ...given({ pattern, semantic }),
    steps,
    aggregation,
  };
}

/** Reads the semantic block; an empty table counts as absent, and any other must be complete. */
function readSemantic(table: DocumentPlace): SemanticBlock | undefined {
  const semantic = table.at("semantic").optional?.record(Object.keys(SEMANTIC_KEYS));
  return semantic === undefined || semantic.names.length === 0
    ? undefined
    : readSemanticBlock(semantic);
}

/** The version of a recipe that names none, in files older than recipe versions. */
const FIRST_VERSION = "1";

/** Reads the version, which is an opaque text; an integer is taken as text. */
function readVersion(table: DocumentPlace): string | undefined {
  if (!table.has("version")) {
    const message = `is missing, taken for "${FIRST_VERSION}"`;
    const hint = "contracts keep the version that they were made from";
    table.at("version").warn(message, hint);
    return FIRST_VERSION;
  }
  const version = table.at("version").value;
  return Number.isInteger(version) ? String(version) : table.at("version").text();
}

function readAggregation(table: DocumentPlace): AggregationMode {
  const aggregation = table.at("aggregation").optional?.record(["mode"]);
  return aggregation?.at("mode").optional?.word(AGGREGATION_MODES) ?? "last";
}

/** Paths come from unknown callers, and an operator can only judge a short pattern. */
const MAX_REGEX_LENGTH = 256;

/** Reads the pattern; undefined without one, or with a problem.   AGTP-API §5.8.6, §10.5 */
function readPattern(recipe: DocumentPlace, vocabulary: Vocabulary): RecipePattern | undefined {
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
  return { methodExact, ...given({ pathExact, pathRegex }), hasParameters };
}

/** Reads `method_exact`, which older files call `name_exact`. */
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
