/**
 * The schemas of a deployment's files, as editors with a TOML language server read them: JSON Schema
 * draft-07, where a text may also ask for a variable of the environment.
 */
import { configSchema } from "../../app/config/schema.ts";
import { isRecord } from "../../base/json-value.ts";
import { endpointFileSchema } from "../../endpoint/endpoint-file-schema.ts";
import { recipeFileSchema } from "../../endpoint/recipe-file-schema.ts";
import type { Schema } from "../../schema/section-field.ts";

/** The files that have a schema. */
export const SCHEMA_NAMES = ["server", "endpoint", "recipe"] as const;
/** One of them. */
export type SchemaName = (typeof SCHEMA_NAMES)[number];

const SCHEMAS: Readonly<Record<SchemaName, Schema>> = {
  server: configSchema,
  endpoint: endpointFileSchema,
  recipe: recipeFileSchema,
};

/** Members whose values are schemas by a name of somebody's choosing, which is never a keyword. */
const BY_NAME: ReadonlySet<string> = new Set(["properties", "patternProperties"]);
/** Members that are values, not schemas. */
const LITERAL: ReadonlySet<string> = new Set(["default", "enum", "const", "required"]);
/** Annotations of ours; a default that is no value means that there is none. */
const OWN: ReadonlySet<string> = new Set(["expected", "isPath", "$schema"]);
const VARIABLE = "\\$\\{[A-Za-z_][A-Za-z0-9_]*(?::-[^{}]*)?\\}";

/** The schema of a file, as JSON text. */
export function schemaText(name: SchemaName): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...(forEditors(SCHEMAS[name]) as object),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function forEditors(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forEditors);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).flatMap(([key, member]): (readonly [string, unknown])[] => {
    if (OWN.has(key) || (key === "description" && member === "")) return [];
    if (key === "pattern") return [[key, `(?:${String(member)})|${VARIABLE}`]];
    if (LITERAL.has(key)) return [[key, member]];
    if (!BY_NAME.has(key) || !isRecord(member)) return [[key, forEditors(member)]];
    const named = Object.entries(member).map(([name, one]) => [name, forEditors(one)]);
    return [[key, Object.fromEntries(named)]];
  });
  return Object.fromEntries(members);
}
