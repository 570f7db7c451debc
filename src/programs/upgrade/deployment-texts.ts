/**
 * The files of a deployment in which methods and paths are named: the configuration, endpoints and
 * recipes, read as the daemon reads them but only as TOML, and packs of agents. Whether they can be
 * served is not asked here; what cannot even be read is a problem, because nobody could say what
 * becomes of it.
 */
import { basename, join, resolve } from "node:path";
import { findDirectoryFault, readBoundedFile } from "../../base/bounded-file.ts";
import {
  type DeploymentFiles,
  type FilesLocation,
  readDeploymentFiles,
} from "../../base/deployment-files.ts";
import { type Environment, substituteVariables } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";
import { isTable, parseToml, type TomlTable } from "../../base/toml-document.ts";
import { parseBoundedJson } from "../../identity/json-document.ts";

/** One file, as its author wrote it and as TOML, or of a pack JSON, has it. */
export interface DeploymentText {
  readonly kind: "config" | "endpoint" | "recipe" | "pack";
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
  for (const { kind, place, suffix, recursive } of KINDS) {
    const dir = readDirectoryKey(parsed.table, place, source, problems);
    if (dir === undefined) continue;
    const location = { directory, dir, defaultDir: place.usual, suffix, recursive };
    addFiles(kind, location, files, problems);
  }
  return { directory, files, problems };
}

/** The key of a directory, and the name that it has without one. */
interface DirectoryKey {
  readonly section: string;
  readonly key: string;
  readonly usual: string;
}

interface FileKind extends Pick<FilesLocation, "suffix" | "recursive"> {
  readonly kind: DeploymentText["kind"];
  readonly place: DirectoryKey;
}

const PACK = "pack.json";

const KINDS: readonly FileKind[] = [
  {
    ...{ kind: "endpoint", suffix: ".toml", recursive: true },
    place: { section: "endpoints", key: "dir", usual: "endpoints" },
  },
  {
    ...{ kind: "recipe", suffix: ".toml", recursive: false },
    place: { section: "recipes", key: "dir", usual: "recipes" },
  },
  {
    ...{ kind: "pack", suffix: PACK, recursive: true },
    place: { section: "openwop", key: "packs_dir", usual: "agents/openwop" },
  },
];

function readDirectoryKey(
  table: TomlTable,
  { section, key, usual }: DirectoryKey,
  { config, environment, directory }: DeploymentSource,
  problems: Problem[],
): string | undefined {
  const fail = (at: string, message: string): undefined => {
    problems.push({ file: config, key: at, message });
  };
  const owner = table[section] ?? {};
  if (!isTable(owner)) return fail(section, "must be a table");
  const dir = owner[key] ?? usual;
  if (typeof dir !== "string") return fail(`${section}.${key}`, "must be a string");
  const { text, faults = [] } = substituteVariables(dir, environment);
  if (text === undefined) return fail(`${section}.${key}`, faults.join(", "));
  return join(resolve(directory, text));
}

function addFiles(
  kind: DeploymentText["kind"],
  location: FilesLocation,
  files: DeploymentText[],
  problems: Problem[],
): void {
  const read = readDeploymentFiles(location);
  if (kind === "pack") {
    addPacks(read, files, problems);
    return;
  }
  problems.push(...read.problems);
  for (const { file, text } of read.files) {
    const { table, fault } = parseToml(text);
    if (fault === undefined) files.push({ kind, file, text, table });
    else problems.push({ file, key: "", message: fault });
  }
}

/** One that cannot be read is not served, whatever the catalog is. */
function addPacks(read: DeploymentFiles, files: DeploymentText[], problems: Problem[]): void {
  problems.push(...read.problems.map((one) => ({ ...one, severity: "warning" }) as const));
  for (const { file, text } of read.files) {
    const { value } = parseBoundedJson(text) as { readonly value?: unknown };
    const isPack = basename(file) === PACK && isTable(value);
    if (isPack) files.push({ kind: "pack", file, text, table: value });
  }
}
