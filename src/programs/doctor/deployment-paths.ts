/** The paths of a deployment by role: served files, private keys, state. */
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type Config, configSchema } from "../../app/config/config.ts";
import { toCamelCase } from "../../app/config/normalize.ts";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { joinIndex, joinKey, memberAt } from "../../base/dotted-key.ts";
import { codeOf } from "../../base/thrown.ts";
import { findModuleFile, parseFunctionReference } from "../../handlers/module-file.ts";
import { stateDirectory } from "../../state/state-directory.ts";
import type { Subject } from "./check.ts";

const MAX_PEM_BYTES = 1024 * 1024;

/** Paths whose content controls the daemon. */
export function servedPaths(subject: Subject): readonly string[] {
  const { config } = subject;
  const trees = [config.endpoints.dir, config.recipes.dir, config.agents.dir].flatMap(listTree);
  const single = [config.directory, config.file, config.catalog.file, ...modulePaths(subject)];
  return [...new Set([...single, ...trees])];
}

/** The modules of handlers, without their own imports, which are unknown until they run. */
function modulePaths({ config, endpoints }: Subject): readonly string[] {
  const functions = [
    ...Object.values(config.policies.builtins),
    ...endpoints.flatMap(({ handler }) =>
      handler.type === "registered_function" ? [handler.function] : [],
    ),
  ];
  const root = realpathSync(config.handlers.root);
  return functions.flatMap((reference) => {
    const modulePath = parseFunctionReference(reference)?.modulePath;
    return (modulePath === undefined ? undefined : findModuleFile(root, modulePath).path) ?? [];
  });
}

/** A file, and the configuration key that names it; empty if none does. */
interface NamedFile {
  readonly path: string;
  readonly key: string;
}

/** The files under keys of this name in any section; the schema marks keys that are paths. */
export function filesNamed(config: Config, name: string): readonly NamedFile[] {
  return filesIn(configSchema, config, "").filter(({ key }) => key.endsWith(`.${name}`));
}

function filesIn(schema: unknown, value: unknown, key: string): readonly NamedFile[] {
  if (typeof value === "string") {
    return memberAt(schema, "isPath") === true ? [{ path: value, key }] : [];
  }
  if (Array.isArray(value)) {
    const items = memberAt(schema, "items");
    return value.flatMap((item, index) => filesIn(items, item, joinIndex(key, index)));
  }
  const properties = Object.entries(memberAt(schema, "properties") ?? {});
  return properties.flatMap(([name, property]) =>
    filesIn(property, memberAt(value, toCamelCase(name)), joinKey(key, name)),
  );
}

/** The known private keys. */
export function privateKeyPaths({ config, machine }: Subject): readonly NamedFile[] {
  const named = filesNamed(config, "key");
  const kept = [
    join(stateDirectory(config.directory), "tls", "key.pem"),
    ...listTree(keyDirectory(config)).filter(holdsKey),
  ];
  const taken = new Set(named.map(({ path }) => path));
  const unnamed = kept.filter((path) => !taken.has(path)).map((path) => ({ path, key: "" }));
  return [...named, ...unnamed].filter(({ path }) => machine.status(path) !== undefined);
}

function holdsKey(path: string): boolean {
  const { text = "" } = path.endsWith(".pem") ? readBoundedFile(path, MAX_PEM_BYTES) : {};
  return text.includes("PRIVATE KEY-----");
}

/** The daemon's state and its archive, with their directories. */
export function statePaths({ config, machine }: Subject): readonly string[] {
  const { archive } = config.attribution.retention ?? {};
  const database = ["", "-wal", "-shm"]
    .map((suffix) => config.store.path + suffix)
    .filter((path) => config.store.driver === "sqlite" && machine.status(path) !== undefined);
  const archived = archive === undefined ? [] : listTree(archive);
  return [...new Set([...listTree(stateDirectory(config.directory)), ...archived, ...database])];
}

/** The certificate that the daemon generates itself. */
export function madeCertificate(config: Config): string {
  return join(stateDirectory(config.directory), "tls", "cert.pem");
}

/** The default directory of `agtp-keys` for keys and certificates. */
export function keyDirectory(config: Config): string {
  return join(stateDirectory(config.directory), "keys");
}

const MAX_ENTRIES = 20_000;
const MAX_DEPTH = 16;
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** Lists a directory with everything below it; empty if it does not exist. */
export function listTree(directory: string): readonly string[] {
  const paths: string[] = [];
  walk(directory, 0, paths);
  return paths;
}

function walk(directory: string, depth: number, paths: string[]): void {
  if (depth > MAX_DEPTH) return;
  const entries = readEntries(directory);
  if (entries === undefined) return;
  paths.push(directory);
  for (const entry of entries) {
    if (paths.length >= MAX_ENTRIES) return;
    if (LEFT_OUT.has(entry.name)) continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) walk(path, depth + 1, paths);
    else if (entry.isFile()) paths.push(path);
  }
}

function readEntries(directory: string) {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return undefined;
    throw error;
  }
}
