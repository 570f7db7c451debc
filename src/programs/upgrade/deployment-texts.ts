/**
 * The files of a deployment in which methods and paths are named: the configuration, endpoints and
 * recipes, read as the daemon reads them but only as TOML. Whether they can be served is not asked
 * here; what cannot even be read is a problem, because nobody could say what becomes of it.
 */
import { join, resolve } from "node:path";
import { findDirectoryFault, readBoundedFile } from "../../base/bounded-file.ts";
import { type FilesLocation, readDeploymentFiles } from "../../base/deployment-files.ts";
import { type Environment, substituteVariables } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";
import { isTable, parseToml, type TomlTable } from "../../base/toml-document.ts";

/** One file, as its author wrote it and as TOML has it. */
export interface DeploymentText {
  readonly kind: "config" | "endpoint" | "recipe";
  /** Relative to the deployment directory, with forward slashes. */
  readonly file: string;
  readonly text: string;
  readonly table: TomlTable;
}

/** The files that could be read, and what is wrong with the others. */
export interface DeploymentTexts {
  /** Absolute. */
  readonly directory: string;
  readonly files: readonly DeploymentText[];
  readonly problems: readonly Problem[];
}

/** The deployment to read. */
export interface DeploymentSource {
  /** Absolute. */
  readonly directory: string;
  readonly config: string;
  readonly environment: Environment;
}

const MAX_BYTES = 1_048_576;

/** Reads a whole deployment. */
export function readDeployment(source: DeploymentSource): DeploymentTexts {
  const { directory, config } = source;
  const nothing = (file: string, message: string): DeploymentTexts => {
    return { directory, files: [], problems: [{ file, key: "", message }] };
  };
  const fault = findDirectoryFault(directory);
  if (fault !== undefined) return nothing(directory, fault);
  const read = readBoundedFile(resolve(directory, config), MAX_BYTES);
  if (read.fault !== undefined) return nothing(config, read.fault);
  const parsed = parseToml(read.text);
  if (parsed.fault !== undefined) return nothing(config, parsed.fault);

  const problems: Problem[] = [];
  const files: DeploymentText[] = [
    { kind: "config", file: config, text: read.text, table: parsed.table },
  ];
  const add = (kind: DeploymentText["kind"], section: string, recursive: boolean): void => {
    const dir = readDirectoryKey(parsed.table, section, source, problems);
    if (dir === undefined) return;
    const location = { directory, dir, defaultDir: section, suffix: ".toml", recursive };
    addFiles(kind, location, files, problems);
  };
  add("endpoint", "endpoints", true);
  add("recipe", "recipes", false);
  return { directory, files, problems };
}

/** `[endpoints] dir` or `[recipes] dir`; their default is the name of the section. */
function readDirectoryKey(
  table: TomlTable,
  section: string,
  { config, environment, directory }: DeploymentSource,
  problems: Problem[],
): string | undefined {
  const fail = (key: string, message: string): undefined => {
    problems.push({ file: config, key, message });
  };
  const owner = table[section] ?? {};
  if (!isTable(owner)) return fail(section, "must be a table");
  const dir = owner["dir"] ?? section;
  if (typeof dir !== "string") return fail(`${section}.dir`, "must be a string");
  const { text, faults = [] } = substituteVariables(dir, environment);
  if (text === undefined) return fail(`${section}.dir`, faults.join(", "));
  return join(resolve(directory, text));
}

function addFiles(
  kind: DeploymentText["kind"],
  location: FilesLocation,
  files: DeploymentText[],
  problems: Problem[],
): void {
  const read = readDeploymentFiles(location);
  problems.push(...read.problems);
  for (const { file, text } of read.files) {
    const { table, fault } = parseToml(text);
    if (fault === undefined) files.push({ kind, file, text, table });
    else problems.push({ file, key: "", message: fault });
  }
}
