/** The product's own agtp-server.toml is its reference of every key: this keeps it true. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../../src/app/config/config.ts";
import { expandEnvironment, loadConfig } from "../../../src/app/config/load.ts";
import { variablesIn } from "../../../src/base/environment.ts";
import type { Schema } from "../../../src/schema/section-field.ts";

const FILE = join(import.meta.dirname, "../../../agtp-server.toml");
const text = readFileSync(FILE, "utf8");
const ENVIRONMENT = {
  WEBHOOK_SECRET: "a",
  MODEL_API_KEY: "b",
  DB_PASSWORD: "c",
  CONSOLE_SECRET: "d",
};

/** The sample's own values; everything else that is not commented out must be a default. */
const SAMPLE_VALUES = [
  ...["server.server_id", "server.operator", "server.contact", "apis", "mcp.servers", "processes"],
  "policies.identity.trusted_issuers",
];
/** A comment sign before what would be TOML without it: a table header, or a key with a value. */
const COMMENTED_OUT = /^# (?=(?:\[+[\w."]+\]+|["\w-]+ = ))/gm;

type Table = Readonly<Record<string, unknown>>;

function asTable(value: unknown): Table {
  return typeof value === "object" && value !== null ? (value as Table) : {};
}

/** Every key of a schema with its default; the keys of an array's tables count as `name[]`. */
function schemaKeys(schema: Schema, prefix = ""): ReadonlyMap<string, unknown> {
  const keys = new Map<string, unknown>();
  for (const [name, property] of Object.entries(asTable(schema["properties"]))) {
    const key = `${prefix}${name}`;
    const { items, properties, default: value } = asTable(property);
    const inner = items === undefined ? asTable(property) : asTable(items);
    const isTable = properties !== undefined || asTable(items)["properties"] !== undefined;
    if (!isTable) keys.set(key, value);
    else for (const entry of schemaKeys(inner, `${key}.`)) keys.set(...entry);
  }
  return keys;
}

/** The value at a dotted key; of an array of tables, the first one's. */
function valueAt(tree: unknown, key: string): unknown {
  return key.split(".").reduce<unknown>((value, name) => {
    const table = asTable(Array.isArray(value) ? value[0] : value);
    return table[name];
  }, tree);
}

describe("agtp-server.toml", () => {
  const active = parse(text);
  const complete = parse(text.replace(COMMENTED_OUT, ""));
  const keys = schemaKeys(configSchema);

  it("shows every key there is", () => {
    const missing = [...keys.keys()].filter((key) => valueAt(complete, key) === undefined);
    expect(missing).toEqual([]);
    expect(keys.size).toBeGreaterThan(100);
  });

  it("gives every key that is not commented out its default", () => {
    const different = [...keys].filter(([key, standard]) => {
      if (SAMPLE_VALUES.some((sample) => key === sample || key.startsWith(`${sample}.`)))
        return false;
      const value = valueAt(active, key);
      return value !== undefined && JSON.stringify(value) !== JSON.stringify(standard);
    });
    expect(different).toEqual([]);
  });

  it("comments out no key that has a default, except in tables that are optional as a whole", () => {
    const optionalTables =
      /^(?:policies\.oauth|agntcy|openwop\.api_keys|policies\.methods\.redirects|policies\.approvals|processes|mcp\.servers|peers|console\.oidc)\b/;
    const hidden = [...keys].filter(
      ([key, standard]) =>
        standard !== undefined && !optionalTables.test(key) && valueAt(active, key) === undefined,
    );
    expect(hidden.map(([key]) => key)).toEqual([]);
  });

  it("shows examples that are valid", () => {
    const ajv = new Ajv2020({ allErrors: true, strict: false });
    const isValid = ajv.compile(configSchema);
    const variables = Object.fromEntries(variablesIn(text).map((name) => [name, "x"]));
    isValid(expandEnvironment(JSON.parse(JSON.stringify(complete)), variables).value);
    expect(isValid.errors ?? []).toEqual([]);
  });

  it("loads as it stands", () => {
    const { config, problems } = loadConfig(FILE, ENVIRONMENT);
    expect(problems).toEqual([]);
    expect(config?.server.serverId).toBe("agents.harbour-hotel.example");
    expect(config?.policies.methods).not.toHaveProperty("aliases");
  });
});

describe("configSchema", () => {
  it("describes every section and every key of a section", () => {
    const undescribed = (schema: Schema, prefix = ""): string[] =>
      Object.entries(asTable(schema["properties"])).flatMap(([name, property]) => {
        const key = `${prefix}${name}`;
        const here = asTable(property)["description"] ? [] : [key];
        const { items } = asTable(property);
        return [
          ...here,
          ...undescribed(asTable(property), `${key}.`),
          ...undescribed(asTable(items), `${key}.`),
        ];
      });
    expect(undescribed(configSchema)).toEqual([]);
  });

  it("leaves no table open but the operator's own maps", () => {
    const open = (schema: unknown, path: string): string[] => {
      const table = asTable(schema);
      const here = table["type"] === "object" && table["additionalProperties"] === undefined;
      const inner = Object.entries(table).flatMap(([key, part]) => open(part, `${path}/${key}`));
      return here ? [path, ...inner] : inner;
    };
    expect(open(configSchema, "")).toEqual([]);
  });
});

describe("the schema of the configuration", () => {
  it("is one that its compiler has nothing to say about", () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
    ajv.addVocabulary(["expected", "isPath", "pathParameters"]);
    expect(() => ajv.compile(configSchema)).not.toThrow();
  });
});
