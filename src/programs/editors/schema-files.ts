/**
 * `agtpd schema`: the schemas of a deployment's files for editors with a TOML language server: JSON
 * Schema draft-07, where a text may also be an environment variable; and the comment lines that
 * lead editors to them.
 */
import { existsSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import { configSchema } from "../../app/config/config.ts";
import { isFile } from "../../base/bounded-file.ts";
import { isRecord, isTexts } from "../../base/json-value.ts";
import { endpointFileSchema } from "../../endpoint/endpoint-file-schema.ts";
import { recipeFileSchema } from "../../endpoint/recipe-file-schema.ts";
import type { Schema } from "../../schema/section-field.ts";
import { type Command, command, usage } from "../shell/command.ts";
import { jsonText } from "../shell/print-json.ts";
import { type NewFile, writeFiles } from "../shell/write-files.ts";

const DIRECTORY = ".agtp/schema";

/**
 * Lists the schema files, relative to the deployment; they are written next to its keys, so only
 * its owner can read them.
 */
export function schemaFiles(): readonly NewFile[] {
  return SCHEMA_NAMES.map((name) => {
    return { path: `${DIRECTORY}/${name}.json`, content: schemaText(name), isSecret: true };
  });
}

/** The first line of a file, given its path relative to the deployment. */
function schemaLine(name: SchemaName, path: string): string {
  const depth = path.split("/").length - 1;
  return `#:schema ${"../".repeat(depth) || "./"}${DIRECTORY}/${name}.json\n`;
}

/** Adds schema lines to the files of a deployment that have a schema; paths are relative to it. */
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
 * Adds schema lines to endpoint files for an existing deployment; they stay unchanged without a
 * configuration, or outside its directory. Paths are absolute or relative to `directory`.
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

const SCHEMA_NAMES = ["server", "endpoint", "recipe"] as const;
/** A file format that has a schema. */
export type SchemaName = (typeof SCHEMA_NAMES)[number];

const SCHEMAS: Readonly<Record<SchemaName, Schema>> = {
  server: configSchema,
  endpoint: endpointFileSchema,
  recipe: recipeFileSchema,
};

/** Keywords whose value is a map of schemas under free names. */
const BY_NAME: ReadonlySet<string> = new Set(["properties", "patternProperties"]);
/** Keywords whose value is not a schema. */
const LITERAL: ReadonlySet<string> = new Set(["default", "enum", "const", "required"]);
/** Our own annotations; a default that is not a value means that there is none. */
const OWN: ReadonlySet<string> = new Set(["expected", "isPath", "pathParameters", "$schema"]);
const VARIABLE = "\\$\\{[A-Za-z_][A-Za-z0-9_]*(?::-[^{}]*)?\\}";

/** The schema of a file as JSON text. */
export function schemaText(name: SchemaName): string {
  return jsonText({
    $schema: "http://json-schema.org/draft-07/schema#",
    ...(forEditors(SCHEMAS[name], name === "server") as object),
  });
}

/**
 * Converts a schema for editors. With `hasVariables` a text may be a variable; in endpoint files
 * only texts without constraints may.
 */
function forEditors(value: unknown, hasVariables: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => forEditors(one, hasVariables));
  if (!isRecord(value)) return value;
  const members = Object.entries(value).flatMap(([key, member]): (readonly [string, unknown])[] => {
    if (OWN.has(key) || (key === "description" && member === "")) return [];
    if (key === "pattern" && hasVariables) return [[key, `(?:${String(member)})|${VARIABLE}`]];
    if (key === "enum" && hasVariables && isTexts(member)) {
      return [["anyOf", [{ enum: member }, { type: "string", pattern: VARIABLE }]]];
    }
    if (LITERAL.has(key)) return [[key, member]];
    // Keys cannot be variables.
    if (key === "propertyNames") return [[key, forEditors(member, false)]];
    if (!BY_NAME.has(key) || !isRecord(member)) return [[key, forEditors(member, hasVariables)]];
    const named = Object.entries(member).map(([name, one]) => [
      name,
      forEditors(one, hasVariables),
    ]);
    return [[key, Object.fromEntries(named)]];
  });
  return Object.fromEntries(members);
}

const NOTES = `
An editor with a TOML language server checks and completes a file whose first line is
  ${schemaLine("server", "agtp-server.toml").trimEnd()}       in agtp-server.toml
  ${schemaLine("endpoint", "endpoints/book-room.toml").trimEnd()}    in endpoints/book-room.toml
  ${schemaLine("recipe", "recipes/audit.toml").trimEnd()}      in recipes/audit.toml

Examples:
  agtpd schema endpoint > endpoint.schema.json
  agtpd schema --write --config shop/agtp-server.toml

Exit codes: 0 printed or written, 2 it could not be.`;

/** Prints one schema, or writes every schema into a deployment. */
export const schemaCommand: Command = command({
  name: "agtpd schema",
  description: "Prints the JSON Schema of a deployment's file, with descriptions and defaults.",
  args: {
    "[name]": { help: `which file's: ${SCHEMA_NAMES.join(" | ")}`, words: SCHEMA_NAMES },
  },
  options: {
    "--write": "write all of them to .agtp/schema beside the configuration",
    "--config <file>": { help: "configuration file", default: "agtp-server.toml" },
  },
  notes: NOTES,
  run: ({ name, write, config }, { directory, out, err }) => {
    if (name !== undefined && !isName(name)) {
      throw usage(`there is no schema ${JSON.stringify(name)}: ${SCHEMA_NAMES.join(", ")}`);
    }
    if (write) {
      const file = resolve(directory, config);
      if (!isFile(file)) throw usage(`${JSON.stringify(config)} is no configuration file`);
      const files = schemaFiles();
      writeFiles(dirname(file), files, true);
      for (const { path } of files) err.write(`wrote ${path}\n`);
    } else if (name === undefined) {
      throw usage(`which one: ${SCHEMA_NAMES.join(", ")}? Or --write`);
    } else {
      out.write(schemaText(name));
    }
    return true;
  },
});

function isName(text: string): text is SchemaName {
  return SCHEMA_NAMES.some((name) => name === text);
}
