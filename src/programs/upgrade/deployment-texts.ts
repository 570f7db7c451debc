/**
 * The files of a deployment that name methods and paths: the configuration, endpoints and recipes,
 * parsed only as TOML, and packs of agents. Whether they can be served is not checked; an
 * unreadable file is a problem, because the effect on it is unknown.
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

/** One file, as text and as parsed TOML or, for a pack, JSON. */
export interface DeploymentText {
  readonly kind: "config" | "endpoint" | "recipe" | "pack";
  /** Relative to the deployment directory, with forward slashes. */
  readonly file: string;
  readonly text: string;
  readonly table: TomlTable;
}

/** The readable files, and the problems of the others. */
export interface DeploymentTexts {
  /** The deployment directory, absolute. */
  readonly directory: string;
  readonly files: readonly DeploymentText[];
  readonly problems: readonly Problem[];
}

export interface DeploymentSource {
  /** The deployment directory, absolute. */
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

/** The configuration key of a directory, and its default name. */
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

/** An unreadable pack is not served, whatever the catalog. */
function addPacks(read: DeploymentFiles, files: DeploymentText[], problems: Problem[]): void {
  problems.push(...read.problems.map((one) => ({ ...one, severity: "warning" }) as const));
  for (const { file, text } of read.files) {
    const { value } = parseBoundedJson(text) as { readonly value?: unknown };
    const isPack = basename(file) === PACK && isTable(value);
    if (isPack) files.push({ kind: "pack", file, text, table: value });
  }
}
