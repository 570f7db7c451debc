/** The schemas beside a deployment, and the lines by which editors find them. */
import { existsSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import type { NewFile } from "../shell/write-files.ts";
import { SCHEMA_NAMES, type SchemaName, schemaText } from "./deployment-schema.ts";

const DIRECTORY = ".agtp/schema";

/** All of them, relative to the deployment; beside its keys, so that they are its owner's alone. */
export function schemaFiles(): readonly NewFile[] {
  return SCHEMA_NAMES.map((name) => {
    return { path: `${DIRECTORY}/${name}.json`, content: schemaText(name), isSecret: true };
  });
}

/** The first line of a file whose path is relative to the deployment. */
export function schemaLine(name: SchemaName, path: string): string {
  const depth = path.split("/").length - 1;
  return `#:schema ${"../".repeat(depth) || "./"}${DIRECTORY}/${name}.json\n`;
}

/** The files of a deployment with the lines of those that have a schema; paths are relative to it. */
export function withSchemaLines<T extends Pick<NewFile, "path" | "content">>(
  files: readonly T[],
): readonly T[] {
  return files.map((file) => {
    const name = schemaOf(file.path);
    if (name === undefined) return file;
    return { ...file, content: schemaLine(name, file.path) + file.content };
  });
}

function schemaOf(path: string): SchemaName | undefined {
  if (path === "agtp-server.toml") return "server";
  if (!path.endsWith(".toml")) return undefined;
  if (path.startsWith("endpoints/")) return "endpoint";
  return path.startsWith("recipes/") ? "recipe" : undefined;
}

/**
 * Endpoint files that go into a deployment which is there, with their lines; as they are where no
 * configuration is, or where they go elsewhere. Paths are absolute or relative to `directory`.
 */
export function withEndpointLines(
  files: readonly NewFile[],
  { directory, config }: { readonly directory: string; readonly config: string },
): readonly NewFile[] {
  const file = resolve(directory, config);
  if (!existsSync(file)) return files;
  return files.map((one) => {
    const path = relative(dirname(file), resolve(directory, one.path)).replaceAll(sep, "/");
    if (path.startsWith("../")) return one;
    return { ...one, content: schemaLine("endpoint", path) + one.content };
  });
}
