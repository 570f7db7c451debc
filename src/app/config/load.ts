/**
 * Loads agtp-server.toml: TOML, environment variables, the schema with its defaults, and rules
 * between keys. Returns a whole configuration, or every reason why there is none.
 */

import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import type { ErrorObject } from "ajv/dist/2020.js";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { joinIndex, joinKey } from "../../base/dotted-key.ts";
import {
  type Environment,
  isUnset,
  remedyOf,
  substituteVariables,
} from "../../base/environment.ts";
import { recordIn } from "../../base/json-value.ts";
import { isError, isNewTo, type Problem } from "../../base/problem.ts";
import { parseToml, type TomlTable } from "../../base/toml-document.ts";
import { consistencyChecks } from "./check-consistency.ts";
import { fileChecks, retentionCheck } from "./check-files.ts";
import {
  type Config,
  type CrossCheck,
  configSchema,
  configValidator,
  type Report,
} from "./config.ts";
import { exposureChecks } from "./listeners.ts";
import { type DraftTree, draftTree, normalize } from "./normalize.ts";
import { describeSchemaErrors, type WrittenFile } from "./schema-problems.ts";

/** The configuration; undefined if a problem is an error. */
export interface LoadedConfig {
  readonly config: Config | undefined;
  /** The readable part of a refused configuration, which the other files are checked against. */
  readonly draft?: Draft | undefined;
  readonly problems: readonly Problem[];
  /** The variables that it was loaded with, including those of the deployment's `.env`. */
  readonly environment: Environment;
}

/** A refused configuration without its malformed parts. */
export interface Draft {
  readonly config: Config;
  /** The keys of its errors, as in the file. */
  readonly faults: readonly string[];
  /** True if its `.env` cannot be read. */
  readonly isEnvironmentLost?: boolean;
  /** Returns a problem with its key as in the file. */
  placed(problem: Problem): Problem;
}

/** Command line values that replace the file's before the rules are applied. */
export interface ConfigOverrides {
  readonly host?: string;
  readonly port?: number;
}

const MAX_BYTES = 1024 * 1024;
const MAX_PROBLEMS = 200;

/** Loads and checks a configuration. Never throws because of the file's content. */
export function loadConfig(
  path: string,
  given: Environment,
  overrides: ConfigOverrides = {},
): LoadedConfig {
  const absolute = resolve(path);
  const { environment, problems: ofVariables } = environmentAt(dirname(absolute), given);
  const loaded = loadFile(absolute, environment, overrides);
  if (ofVariables.length === 0) return { ...loaded, environment };
  // Unset variables may be in the unreadable file, so they are not reported.
  const others = loaded.problems.filter(({ message }) => !isUnset(message));
  const { config, draft = config && { config, faults: [], placed: (one: Problem) => one } } =
    loaded;
  // AGNTCY agents are named by variables alone, so they are doubtful too.
  const doubted = draft && {
    ...draft,
    faults: [...draft.faults, "agntcy"],
    isEnvironmentLost: true,
  };
  const problems = [...ofVariables, ...others];
  return { config: undefined, draft: doubted, problems, environment };
}

function loadFile(
  absolute: string,
  environment: Environment,
  overrides: ConfigOverrides,
): Omit<LoadedConfig, "environment"> {
  const file = basename(absolute);
  const read = readBoundedFile(absolute, MAX_BYTES);
  if (read.fault !== undefined) return refuse(file, `"${absolute}" ${read.fault}`);
  const { table: written, fault } = parseToml(read.text);
  if (fault !== undefined) return refuse(file, fault);

  const { value, faults } = expandEnvironment(written, environment);
  const tree = override(withTlsMode(value as TomlTable, environment), overrides);
  const validation = validate(tree, { file, tree: override(written, overrides) });
  const unexpanded = new Set(faults.map((fault) => fault.key));
  const problems = [
    ...faults.map((fault): Problem => ({ file, ...fault, ...remedyOf(fault.message) })),
    ...validation.problems.filter(({ key }) => !unexpanded.has(key)),
  ];
  const malformed = new Set([
    ...validation.malformed,
    ...[...unexpanded].map((key) => /^[^.[]*/.exec(key)?.[0] ?? ""),
  ]);

  // Valid only outside the malformed sections; the rules between keys skip those.
  const config = configOf(tree, absolute);
  const isWhole = (section: string): boolean => !malformed.has(section);
  problems.push(...checkAcross([...keyChecks, ...fileChecks], config, file, isWhole));
  if (!problems.some(isError)) return { config: deepFreeze(config), problems };
  const draft = draftOf(draftTree(tree, validation.errors), absolute);
  if (draft === undefined) return { config: undefined, problems: bound(problems, file) };
  const isBroken = (section: string): boolean => malformed.has(section);
  const ofFiles = checkAcross(fileChecks, draft.config, file, isBroken).map(draft.placed);
  problems.push(...ofFiles.filter(isNewTo(problems)));
  const refused = problems.filter(isError).map(({ key }) => key);
  return {
    config: undefined,
    draft: { ...draft, faults: refused },
    problems: bound(problems, file),
  };
}

/** Builds the draft; undefined if the remaining tree is no valid configuration. */
function draftOf(
  { tree, keyInFile }: DraftTree,
  absolute: string,
): Omit<Draft, "faults"> | undefined {
  const file = basename(absolute);
  const { errors } = validate(tree, { file, tree });
  if (errors.some(({ keyword }) => keyword !== "additionalProperties")) return undefined;
  return {
    config: configOf(tree, absolute),
    placed: (problem) =>
      problem.file === file ? { ...problem, key: keyInFile(problem.key) } : problem,
  };
}

function configOf(tree: TomlTable, absolute: string): Config {
  const directory = dirname(absolute);
  const sections = normalize(tree, configSchema, directory) as Omit<Config, "directory" | "file">;
  return { directory, file: absolute, ...sections };
}

function refuse(file: string, message: string): Omit<LoadedConfig, "environment"> {
  return { config: undefined, problems: [{ file, key: "", message }] };
}

function override(tree: TomlTable, overrides: ConfigOverrides): TomlTable {
  const { server = {} } = tree;
  if (Object.keys(overrides).length === 0 || typeof server !== "object") return tree;
  return { ...tree, server: { ...server, ...overrides } };
}

interface Validation {
  readonly errors: readonly ErrorObject[];
  readonly problems: readonly Problem[];
  /** The sections with a malformed value; unknown keys do not count. */
  readonly malformed: ReadonlySet<string>;
}

/** Validates the tree, and fills in its defaults. */
function validate(tree: TomlTable, written: WrittenFile): Validation {
  const isValid = configValidator();
  isValid(tree);
  const errors = isValid.errors ?? [];
  const problems = describeSchemaErrors(errors, written);
  const misshapen = errors.filter((error) => error.keyword !== "additionalProperties");
  return {
    errors,
    problems,
    malformed: new Set(misshapen.map((error) => error.instancePath.split("/")[1] ?? "")),
  };
}

const keyChecks: readonly CrossCheck[] = [...consistencyChecks, retentionCheck, ...exposureChecks];

/** Applies the rules whose sections are all selected. */
function checkAcross(
  checks: readonly CrossCheck[],
  config: Config,
  file: string,
  isLookedAt: (section: string) => boolean,
): readonly Problem[] {
  const problems: Problem[] = [];
  const report: Report = (key, message, more = {}) => {
    problems.push({ file, key, message, ...more });
  };
  for (const { sections, check } of checks) if (sections.every(isLookedAt)) check(config, report);
  return problems;
}

function bound(problems: readonly Problem[], file: string): readonly Problem[] {
  if (problems.length <= MAX_PROBLEMS) return problems;
  const message = `${problems.length - MAX_PROBLEMS} more problems are not shown`;
  return [...problems.slice(0, MAX_PROBLEMS), { file, key: "", message }];
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

/** The tree with variables substituted, and the faults of those that cannot be. */
interface Expansion {
  readonly value: unknown;
  readonly faults: readonly { readonly key: string; readonly message: string }[];
}

/** Dotted TOML keys nest without brackets, which the parser's depth limit does not count. */
const MAX_DEPTH = 16;

/**
 * Substitutes variables in all strings; keys, numbers and booleans are unchanged. Returns a new
 * tree, without the values that have a fault.
 */
export function expandEnvironment(tree: unknown, environment: Environment): Expansion {
  const faults: { key: string; message: string }[] = [];
  const report = (key: string, message: string): undefined => {
    faults.push({ key, message });
  };
  const expand = (value: unknown, key: string, depth: number): unknown => {
    if (typeof value === "string") {
      const substitution = substituteVariables(value, environment);
      for (const fault of substitution.faults ?? []) report(key, fault);
      return substitution.text;
    }
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Date) return report(key, "must not be a date");
    if (depth > MAX_DEPTH) return report(key, `must not be nested deeper than ${MAX_DEPTH} levels`);
    if (Array.isArray(value)) {
      return value.map((item, index) => expand(item, joinIndex(key, index), depth + 1));
    }
    const members = Object.entries(value);
    return Object.fromEntries(
      members.map(([name, member]) => [name, expand(member, joinKey(key, name), depth + 1)]),
    );
  };
  return { value: expand(tree, "", 0), faults };
}

/** The TLS modes that never fall back to plain text. */
const SAFE_MODES: ReadonlySet<string> = new Set(["require", "verify-ca", "verify-full"]);

/** Adds `PGSSLMODE` to a database URL without a TLS mode, if it requires TLS. */
function withTlsMode(tree: TomlTable, { PGSSLMODE: mode = "" }: Environment): TomlTable {
  const store = recordIn(tree["store"]) as TomlTable;
  const { url } = store;
  if (!SAFE_MODES.has(mode) || typeof url !== "string" || /[?&]ssl(?:mode)?=/.test(url))
    return tree;
  const mark = url.includes("?") ? "&" : "?";
  return { ...tree, store: { ...store, url: `${url}${mark}sslmode=${mode}` } };
}

/** The variables file beside the configuration; the process's environment wins. A reload reads it again. */
export const ENV_FILE = ".env";

const MAX_ENV_BYTES = 256 * 1024;

/** Returns the environment, with the variables of the deployment's file if it has one. */
export function environmentAt(
  directory: string,
  environment: Environment,
): Pick<LoadedConfig, "environment" | "problems"> {
  const path = join(directory, ENV_FILE);
  if (!existsSync(path)) return { environment, problems: [] };
  const { text, fault } = readBoundedFile(path, MAX_ENV_BYTES);
  if (text === undefined) {
    return { environment, problems: [{ file: ENV_FILE, key: "", message: fault }] };
  }
  return { environment: { ...parseEnv(text), ...environment }, problems: [] };
}
