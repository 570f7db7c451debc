/** Formats the schema of a file as Markdown: a table of keys for each of its tables, with defaults and bounds. */
import { type Schema, text } from "../../src/schema/section-field.ts";
import { code, headOf, row } from "./source-table.ts";

/** A table of a file with its keys. */
interface FileTable {
  /** `[server]`, `[[mcp.servers]]`; empty for the top of a file. */
  readonly heading: string;
  readonly description: string;
  readonly rows: readonly string[];
}

/** The tables below a schema, in its order. */
export function schemaTables(schema: Schema): string {
  return tablesOf(schema, { name: "", isList: false })
    .filter(({ rows, description }) => rows.length > 0 || description !== "")
    .map(({ heading, description, rows }) => {
      const table = [...headOf(["key", "value", "default", "meaning"]), ...rows];
      const lead = heading === "" ? [] : [`## \`${heading}\``, ""];
      return [
        ...lead,
        ...(description === "" ? [] : [`${description}.`, ""]),
        ...(rows.length === 0 ? [] : table),
      ]
        .join("\n")
        .trimEnd();
    })
    .join("\n\n");
}

interface Place {
  readonly name: string;
  readonly isList: boolean;
}

function tablesOf(schema: Schema, place: Place): readonly FileTable[] {
  const { name, isList } = place;
  const heading = name === "" ? "" : isList ? `[[${name}]]` : `[${name}]`;
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const rows: string[] = [];
  const below: FileTable[] = [];
  for (const [key, one] of Object.entries(asTable(schema["properties"]))) {
    const inner = asTable(one);
    const path = name === "" ? key : `${name}.${key}`;
    const deeper = tableIn(inner, path);
    if (deeper === undefined) rows.push(rowOf(key, inner, required.has(key)));
    else below.push(...deeper);
  }
  const description = typeof schema["description"] === "string" ? schema["description"] : "";
  return [{ heading, description, rows }, ...below];
}

/** The tables below a key; undefined if the key has a plain value. */
function tableIn(schema: Schema, path: string): readonly FileTable[] | undefined {
  if (schema["properties"] !== undefined) return tablesOf(schema, { name: path, isList: false });
  const items = asTable(schema["items"]);
  if (items["properties"] !== undefined) {
    const described = { ...items, description: items["description"] || schema["description"] };
    return tablesOf(described, { name: path, isList: true });
  }
  const others = asTable(schema["additionalProperties"]);
  if (others["properties"] !== undefined) {
    const described = { ...others, description: others["description"] || schema["description"] };
    return tablesOf(described, { name: `${path}.NAME`, isList: false });
  }
  const forms: unknown = schema["oneOf"];
  if (!Array.isArray(forms)) return undefined;
  const kinds = forms.map(asTable).filter((form) => kindOf(form) !== undefined);
  if (kinds.length !== forms.length) return undefined;
  return kinds.flatMap((form) => {
    const described = {
      ...form,
      description: asTable(asTable(form["properties"])["type"])["description"],
    };
    return tablesOf(described, { name: `${path}`, isList: false }).map((table) => ({
      ...table,
      heading: `${table.heading} type = "${kindOf(form)}"`,
    }));
  });
}

function kindOf(form: Schema): string | undefined {
  const kind = asTable(asTable(form["properties"])["type"])["const"];
  return typeof kind === "string" ? kind : undefined;
}

function rowOf(key: string, schema: Schema, isRequired: boolean): string {
  const fallback =
    "default" in schema ? code(JSON.stringify(schema["default"])) : isRequired ? "required" : "";
  return row([code(key), formOf(schema), fallback, String(schema["description"] ?? "")]);
}

const PLAIN_TEXT = text("", "")["expected"];

/** Describes the values of a key. */
function formOf(schema: Schema): string {
  const { enum: words, const: only, expected, minimum, maximum, type } = schema;
  if (only !== undefined) return code(JSON.stringify(only));
  if (Array.isArray(words)) return words.map((one) => code(JSON.stringify(one))).join(" ");
  if (schema["if"] !== undefined)
    return String(asTable(schema["else"])["expected"] ?? "a word or a list");
  if (type === "array") return `list: ${formOf(asTable(schema["items"]))}`;
  if (expected === PLAIN_TEXT) return "text";
  if (typeof expected === "string") return expected;
  if (Array.isArray(type)) return type.join(" or ");
  if (type === "integer" || type === "number") {
    const bounds = minimum === undefined ? "" : ` ${String(minimum)} to ${String(maximum)}`;
    return `${type}${bounds}`;
  }
  if (type === "boolean") return "`true` `false`";
  return type === "object" ? "table" : type === undefined ? "any" : String(type);
}

function asTable(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
}
