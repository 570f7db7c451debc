import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { describe, expect, it } from "vitest";
import { parseToml } from "../../../src/base/toml-document.ts";
import {
  type SchemaName,
  schemaCommand,
  schemaText,
} from "../../../src/programs/editors/schema-files.ts";
import { initCommand } from "../../../src/programs/init/command.ts";
import { openapiProgram } from "../../../src/programs/openapi/command.ts";
import { makeDirectory } from "../../support/directory.ts";
import { runIn } from "../../support/terminal.ts";

/** A strict one: a keyword that draft-07 does not have is a fault. */
function compile(name: SchemaName): ValidateFunction {
  return new Ajv({
    allErrors: true,
    strict: true,
    strictRequired: false,
    strictTypes: false,
  }).compile(JSON.parse(schemaText(name)));
}

function faults(name: SchemaName, text: string): readonly string[] {
  const { table } = parseToml(text);
  const isValid = compile(name);
  isValid(JSON.parse(JSON.stringify(table)));
  return (isValid.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
}

function tomlFiles(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".toml"))
    .map((name) => readFileSync(join(directory, name), "utf8"));
}

/** Lines of a table in which some are in the place of others. */
function tableText(header: string, lines: readonly string[], line: string): string {
  const key = line.slice(0, line.indexOf("=") + 1);
  return [header, ...lines.filter((one) => !one.startsWith(key)), line].join("\n");
}

const ENDPOINT_LINES = [
  'method = "BOOK"',
  'path = "/room"',
  'description = "Books."',
  'errors = ["full"]',
  'semantic = { intent = "a", actor = "agent", outcome = "b", capability = "transaction", confidence = 1, impact = "reversible", is_idempotent = false }',
  'input_schema = { type = "object", additionalProperties = false }',
  'output_schema = { type = "object" }',
  'handler = { type = "registered_function", function = "a.b" }',
];

function endpointText(line: string): string {
  return tableText("[endpoint]", ENDPOINT_LINES, line);
}

function recipeText(line: string): string {
  return tableText(
    "[[recipe]]",
    ['name = "a"', 'version = "1"', 'steps = [{ method = "ASK" }]'],
    line,
  );
}

/** Every key that has a default. */
function wholeConfiguration(): string {
  return readFileSync("agtp-server.toml", "utf8");
}

describe("agtpd schema", () => {
  it("takes every file of the sample", () => {
    expect(faults("server", wholeConfiguration())).toEqual([]);
    const endpoints = tomlFiles("endpoints");
    expect(endpoints.length).toBeGreaterThan(5);
    for (const text of endpoints) expect(faults("endpoint", text)).toEqual([]);
    for (const text of tomlFiles("recipes")) expect(faults("recipe", text)).toEqual([]);
  });

  it("takes field lists, as files of the reference implementation have them", () => {
    const text = `
[endpoint]
method = "BOOK"
path = "/room"
description = "Books."
errors = { list = ["full"] }
semantic = { intent = "a", actor = "agent", outcome = "b", capability = "transaction", confidence = 1, impact = "reversible", is_idempotent = false }
handler = { type = "registered_function", function = "a.b" }
[[endpoint.input.required]]
name = "guest"
type = "string"
[[endpoint.output]]
name = "id"
type = "string"
`;
    expect(faults("endpoint", text)).toEqual([]);
    expect(faults("endpoint", text.replace('"string"', '"text"'))).toContain(
      "/endpoint/input/required/0/type enum",
    );
  });

  it.each([
    ["server", '[server]\nserver_id = "a.example"\nport = 70000', "/server/port maximum"],
    ["server", '[server]\nserver_id = "a.example"\nprot = 1', "/server additionalProperties"],
    ["endpoint", '[endpoint]\nmethod = "book"', "/endpoint/method pattern"],
    ["recipe", "[[recipe]]\nname = 'a'\nsteps = []", "/recipe/0/steps minItems"],
    [
      "recipe",
      "[[recipe]]\nname = 'a'\n[[recipe.steps]]\nmethod='ASK'\nname='x'",
      "/recipe/0/steps/0 additionalProperties",
    ],
  ] as const)("says what is wrong in a %s file", (name, text, fault) => {
    expect(faults(name, text)).toContain(fault);
  });

  it("lets a variable of the environment stand for a text of any form", () => {
    const [host, wrong] = ["$", ""].map((sign) => {
      return `[server]\nserver_id = "a.example"\nhost = "${sign}{HOST}"`;
    });
    expect(faults("server", host ?? "")).toEqual([]);
    expect(faults("server", wrong ?? "")).toEqual(["/server/host pattern"]);
  });

  it("lets a variable stand for one of a few words, and for no key", () => {
    const variable = "$" + "{ON_INVALID:-fail}";
    const text = (value: string): string =>
      `[server]\nserver_id = "a.example"\non_invalid = "${value}"\n[policies.methods]\nlegacy = "${value}"`;
    expect(faults("server", text(variable))).toEqual([]);
    expect(faults("server", text("often"))).toContain("/server/on_invalid enum");
    const recipient = `[server]\nserver_id = "a.example"\n[webhooks.recipients]\n"${variable}" = "https://a.example"`;
    expect(faults("server", recipient)).toContain("/webhooks/recipients pattern");
  });

  it("takes every text that an endpoint file may have", () => {
    const description = ["Books a room,", "by the night.", "x".repeat(5_000)].join("\n");
    const text = JSON.stringify(description);
    expect(faults("endpoint", endpointText(`description = ${text}`))).toEqual([]);
    expect(faults("recipe", recipeText(`description = ${text}`))).toEqual([]);
    const service = `{ type = "external_service", url = "${"$" + "{URL}"}/rooms", method = "GET" }`;
    expect(faults("endpoint", endpointText(`handler = ${service}`))).toEqual([]);
  });

  it.each([
    ["/endpoint/description pattern", 'description = "  "'],
    ["/endpoint/method pattern", `method = "${"$" + "{METHOD}"}"`],
    ["/endpoint/tool pattern", `tool = "${"$" + "{TOOL}"}"`],
    ["/endpoint/errors uniqueItems", 'errors = ["full", "full"]'],
    ["/endpoint/required_scopes uniqueItems", 'required_scopes = ["a:b", "a:b"]'],
    [
      "/endpoint/handler/function pattern",
      'handler = { type = "registered_function", function = "book" }',
    ],
    ["/endpoint/deprecated/deprecated_in pattern", 'deprecated = { deprecated_in = "2;1" }'],
    [
      "/endpoint/deprecated/successor minProperties",
      'deprecated = { deprecated_in = "2", successor = {} }',
    ],
    [
      "/endpoint/handler/error_map propertyNames",
      'handler = { type = "external_service", url = "https://a.example", method = "GET", error_map = { 4xx = "full" } }',
    ],
  ])("says of an endpoint file what the daemon would say: %s", (fault, line) => {
    expect(faults("endpoint", endpointText(line))).toContain(fault);
  });

  it.each([
    ["/recipe/0/version pattern", 'version = ""'],
    ["/recipe/0/pattern oneOf", 'pattern = { path_exact = "/a" }'],
    [
      "/recipe/0/pattern not",
      'pattern = { method_exact = "ASK", path_exact = "/a", path_regex = "^/a$" }',
    ],
    [
      "/recipe/0/pattern/path_regex maxLength",
      `pattern = { method_exact = "ASK", path_regex = "${"a".repeat(257)}" }`,
    ],
    ["/recipe/0/steps maxItems", `steps = [${'{ method = "ASK" }, '.repeat(65)}]`],
  ])("says of a recipe file what the daemon would say: %s", (fault, line) => {
    expect(faults("recipe", recipeText(line))).toContain(fault);
  });

  it("says what every key of the configuration means", () => {
    const undescribed: string[] = [];
    const look = (schema: Record<string, unknown>, place: string): void => {
      const { properties = {} } = schema as {
        properties?: Record<string, Record<string, unknown>>;
      };
      for (const [key, one] of Object.entries(properties)) {
        if (typeof one["description"] !== "string") undescribed.push(`${place}.${key}`);
        look(one, `${place}.${key}`);
      }
    };
    look(JSON.parse(schemaText("server")), "");
    expect(undescribed).toEqual([]);
  });

  it("prints one, and says which there are", async () => {
    const printed = await runIn(makeDirectory(), schemaCommand, ["endpoint"]);
    expect(printed.exitCode).toBe(0);
    expect(JSON.parse(printed.out)).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      title: "An endpoint file",
    });
    const unknown = await runIn(makeDirectory(), schemaCommand, ["endpoints"]);
    expect(unknown.exitCode).toBe(2);
    expect(unknown.err).toContain("server, endpoint, recipe");
    expect((await runIn(makeDirectory(), schemaCommand, [])).exitCode).toBe(2);
  });

  it("writes all of them beside a deployment, where the lines of its files point", async () => {
    const directory = makeDirectory();
    await runIn(directory, initCommand(undefined), ["shop", "--yes"]);
    const schemaOf = (file: string): unknown => {
      const [line = ""] = readFileSync(join(directory, "shop", file), "utf8").split("\n");
      const path = /^#:schema (.+)$/.exec(line)?.[1] ?? "no line";
      return JSON.parse(readFileSync(join(directory, "shop", file, "..", path), "utf8")).title;
    };
    expect(schemaOf("agtp-server.toml")).toBe("agtp-server.toml");
    expect(schemaOf("endpoints/query-item.toml")).toBe("An endpoint file");
    expect(schemaOf("recipes/compare-items.toml")).toBe("A recipe file");
    const again = await runIn(join(directory, "shop"), schemaCommand, ["--write"]);
    expect(again.exitCode).toBe(0);
    expect(again.err).toContain(".agtp/schema/recipe.json");
    for (const config of ["shop", "nowhere/agtp-server.toml", "shop/agtp-server.toml/x"]) {
      const args = ["--write", "--config", config];
      const { exitCode, err } = await runIn(directory, schemaCommand, args);
      expect([config, exitCode]).toEqual([config, 2]);
      expect(err).toContain("is no configuration file");
    }
    expect(readdirSync(directory)).toEqual(["shop"]);
  });

  it("goes with what an import writes", async () => {
    const directory = makeDirectory();
    const document = {
      openapi: "3.1.0",
      info: { title: "Orders", version: "1" },
      servers: [{ url: "https://orders.example" }],
      paths: {
        "/orders/{id}": {
          get: {
            operationId: "getOrder",
            tags: ["orders"],
            parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
            responses: { 200: { description: "It." } },
          },
        },
      },
    };
    const args = ["import", "-", "--output", "made"];
    const { exitCode, err } = await runIn(directory, openapiProgram, args, {
      input: JSON.stringify(document),
    });
    expect([exitCode, err]).toEqual([0, expect.stringContaining("1 endpoint in made")]);
    const [endpoint = ""] = tomlFiles(join(directory, "made", "endpoints"));
    expect(endpoint.split("\n")[0]).toBe("#:schema ../../.agtp/schema/endpoint.json");
    expect(faults("endpoint", endpoint)).toEqual([]);
    const configuration = readFileSync(join(directory, "made/agtp-server.toml"), "utf8");
    expect(configuration).toMatch(/^#:schema \.\/\.agtp\/schema\/server\.json\n/);
    expect(faults("server", configuration)).toEqual([]);
  });
});
