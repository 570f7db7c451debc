/**
 * Reads a deployment and determines the effects of a catalog change, each with its line. Findings
 * are complete only if no problem is an error.   AGTP-API §4.7
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type AST, parseTOML } from "toml-eslint-parser";
import { environmentAt } from "../../app/config/load.ts";
import { documentAt } from "../../base/document-place.ts";
import { joinIndex, joinKey } from "../../base/dotted-key.ts";
import { type Environment, substituteVariables } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";
import { isTable } from "../../base/toml-document.ts";
import { ManifestLibrary } from "../../modules/agntcy/dependencies/manifest-library.ts";
import { type CatalogStep, type DeploymentFindings, findConflicts } from "./conflict.ts";
import {
  type DeploymentSource,
  type DeploymentText,
  type DeploymentTexts,
  readDeployment,
} from "./deployment-texts.ts";
import { packTools, pairOf } from "./pack-tools.ts";
import {
  collectEndpoint,
  collectPolicies,
  type MethodRole,
  type Reference,
  ReferenceCollector,
  type References,
} from "./reference.ts";

export interface Scan extends DeploymentFindings {
  readonly texts: DeploymentTexts;
  readonly references: References;
  readonly problems: readonly Problem[];
  /** The place of a reference in its file; undefined if it is not written there. */
  placeOf(reference: Reference): TomlPlace | undefined;
}

/** Reads the deployment and finds conflicts; writes nothing. */
export function scanDeployment(options: DeploymentSource & CatalogStep): Scan {
  const { environment, problems } = environmentAt(options.directory, options.environment);
  const texts = readDeployment({ ...options, environment });
  const config = texts.files.find(({ kind }) => kind === "config");
  const references = new ReferenceCollector(config, environment);
  for (const source of texts.files) {
    switch (source.kind) {
      case "config":
        collectPolicies(source, references);
        references.methods.push(...ownEndpoints(source, { ...options, environment }));
        break;
      case "endpoint":
        collectEndpoint(source, references);
        break;
      case "recipe":
        collectRecipes(source, references);
        break;
      case "pack":
        break;
    }
  }
  const endpoints = references.methods
    .filter(({ role }) => role === "endpoint")
    .flatMap((one) => pairOf(one, one.value) ?? []);
  references.methods.push(...packTools(texts.files, endpoints));
  const findings = findConflicts(references, options);
  return {
    ...findings,
    texts,
    references,
    problems: [...problems, ...texts.problems, ...references.problems],
    placeOf: createPlaceFinder(),
  };
}

/** Each file is located once, and only on demand. */
function createPlaceFinder(): Scan["placeOf"] {
  const known = new Map<DeploymentText, TomlPlaces>();
  return ({ source, key }) => {
    const places = known.get(source) ?? locateKeys(source.text);
    known.set(source, places);
    return placeOf(places, key);
  };
}

function collectRecipes(source: DeploymentText, collector: ReferenceCollector): void {
  const root = documentAt(source.table, { file: source.file, key: "" }, collector.problems);
  if (!root.has("recipe")) root.at("recipe").fail("is missing, expected tables as in [[recipe]]");
  for (const recipe of root.at("recipe").records()) {
    const pattern = recipe.at("pattern").optional?.record();
    if (pattern !== undefined) {
      const found = collector.from(source, pattern);
      const key = pattern.has("method_exact") ? "method_exact" : "name_exact";
      found.method("pattern", key, pattern.at(key).text());
      found.path("pattern-path", "path_exact", pattern.at("path_exact").optional?.text());
      for (const word of wholeSegments(pattern.at("path_regex").value)) {
        found.path("pattern-segment", "path_regex", word);
      }
    }
    for (const step of recipe.at("steps").records()) {
      const found = collector.from(source, step);
      found.method("step", "method", step.at("method").text());
      found.path("step-path", "path", step.at("path").optional?.text());
    }
  }
}

/** The distinct words between the slashes and bars of a regular expression. */
function wholeSegments(pattern: unknown): ReadonlySet<string> {
  const words = typeof pattern === "string" ? pattern.matchAll(WHOLE_SEGMENT) : [];
  return new Set(Array.from(words, ([word]) => word));
}

// A group after a word begins another segment, or ends the path.
const WHOLE_SEGMENT =
  /(?<=[/|(]|\(\?:)[A-Za-z][A-Za-z_-]*(?=\\?\/|[|)$]|\((?:\?:)?(?:\\?\/|\$)|$)/g;

interface TomlPlace {
  /** The line number, from 1. */
  readonly line: number;
  readonly column: number;
  /** The range of its value in characters, if it is a text. */
  readonly range?: readonly [start: number, end: number];
}

type TomlPlaces = ReadonlyMap<string, TomlPlace>;

/**
 * The places of a TOML file's keys: line and column for a person, the range of a value for an edit.
 * Only files with a finding are located, because it takes ten times as long as parsing. The text is
 * valid; the result is empty if the locating parser fails on its layout.
 */
export function locateKeys(text: string): TomlPlaces {
  const places = new Map<string, TomlPlace>();
  try {
    // The daemon's parser accepts TOML 1.1, so this one must, too.
    const [root] = parseTOML(text, { tomlVersion: "1.1" }).body;
    for (const node of root.body) {
      if (node.type === "TOMLKeyValue") addKeyValue(places, "", node);
      else addTable(places, node);
    }
  } catch {
    // A text of a megabyte overflows the parser's stack; the file's findings are reported without lines.
    return new Map();
  }
  return places;
}

/** The place of a key, or the line of the closest table around it. */
export function placeOf(places: TomlPlaces, key: string): TomlPlace | undefined {
  const own = places.get(key);
  if (own !== undefined) return own;
  // Each step shortens the key; parts of a quoted name are never found.
  for (let at = key; at !== ""; ) {
    at = at.slice(0, Math.max(0, at.lastIndexOf("."), at.lastIndexOf("[")));
    const around = places.get(at);
    if (around !== undefined) return { line: around.line, column: around.column };
  }
  return undefined;
}

function addTable(places: Map<string, TomlPlace>, table: AST.TOMLTable): void {
  const key = table.resolvedKey.reduce<string>(below, "");
  addPlace(places, key, table);
  for (const member of table.body) addKeyValue(places, key, member);
}

function addKeyValue(
  places: Map<string, TomlPlace>,
  parent: string,
  { key, value, ...node }: AST.TOMLKeyValue,
): void {
  const names = key.keys.map((one) => (one.type === "TOMLBare" ? one.name : one.value));
  addValue(places, names.reduce<string>(below, parent), value, node);
}

function addValue(
  places: Map<string, TomlPlace>,
  key: string,
  value: AST.TOMLContentNode,
  node: AST.HasLocs,
): void {
  switch (value.type) {
    case "TOMLValue":
      addPlace(places, key, node, value.kind === "string" ? value.range : undefined);
      break;
    case "TOMLArray":
      addPlace(places, key, node);
      for (const [index, item] of value.elements.entries()) {
        addValue(places, joinIndex(key, index), item, item);
      }
      break;
    case "TOMLInlineTable":
      addPlace(places, key, node);
      for (const member of value.body) addKeyValue(places, key, member);
      break;
  }
}

function addPlace(
  places: Map<string, TomlPlace>,
  key: string,
  { loc }: Pick<AST.HasLocs, "loc">,
  range?: readonly [number, number],
): void {
  const { line, column } = loc.start;
  // Long names are shortened and may collide: then nothing is replaced.
  const isUnique = !places.has(key);
  const ranged = range !== undefined && isUnique ? { range } : {};
  places.set(key, { line, column: column + 1, ...ranged });
}

function below(parent: string, part: string | number): string {
  return typeof part === "number" ? joinIndex(parent, part) : joinKey(parent, part);
}

/** Packs and workflows are served from there without a section. */
const OPENWOP_DIR = "agents/openwop";

/**
 * The methods beyond the floor that the server's own endpoints have: no file names them, and with a
 * catalog that lacks one the server refuses its own endpoint with 459.
 */
function ownEndpoints(
  config: DeploymentText,
  { directory, environment }: { readonly directory: string; readonly environment: Environment },
): readonly Reference<MethodRole>[] {
  const { openwop, agntcy, policies } = config.table;
  const hasRuns = isTable(openwop) || existsSync(resolve(directory, OPENWOP_DIR));
  const agents = Array.isArray(agntcy) ? agntcy : [];
  const threading = agents.findIndex((agent) => hasThreads(agent, directory, environment));
  const methods = isTable(policies) ? policies["methods"] : undefined;
  const { allow = "*", disallow = [] } = isTable(methods) ? methods : {};
  const isAllowed = (method: string): boolean => {
    const isListed = !Array.isArray(allow) || allow.includes(method);
    return isListed && !(Array.isArray(disallow) && disallow.includes(method));
  };
  const named: readonly (readonly [key: string, method: string])[] = [
    ...(hasRuns
      ? ([
          ["openwop", "CANCEL"],
          ["openwop", "FORK"],
        ] as const)
      : []),
    ...(agents.length > 0 ? ([["agntcy[0]", "CANCEL"]] as const) : []),
    ...(threading === -1 ? [] : ([[`agntcy[${threading}]`, "CREATE"]] as const)),
    ["policies.methods.custom", "RESUME"],
  ];
  return named
    .filter(([, method]) => isAllowed(method))
    .map(([key, value]) => {
      return { source: config, key, role: "own-endpoint", value, isWritten: false, within: {} };
    });
}

/** Returns true if an agent's manifest has threads; an unreadable manifest is not served. */
function hasThreads(agent: unknown, directory: string, environment: Environment): boolean {
  const written = isTable(agent) ? agent["manifest"] : undefined;
  if (typeof written !== "string") return false;
  const { text } = substituteVariables(written, environment);
  if (text === undefined) return false;
  const { manifest } = new ManifestLibrary({ directory }).read(resolve(directory, text));
  return manifest?.specs.capabilities.threads === true;
}
