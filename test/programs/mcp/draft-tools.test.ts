/** Schemas of tools as those of the endpoints that they become.   formats §10 */
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { readTool } from "../../../src/handlers/mcp/tool-pins.ts";
import { loadShippedCatalog } from "../../../src/openapi/import-files.ts";
import { draftTools } from "../../../src/programs/mcp/draft-tools.ts";
import type { EndpointTable } from "../../support/openapi-program.ts";

const { catalog } = loadShippedCatalog();

const DRAFTING = { server: "tools", catalog, keepsNames: false, isPrefixed: false };

/** The endpoint that a tool with these schemas becomes. */
function draft(inputSchema: object, outputSchema?: object): Readonly<Record<string, unknown>> {
  const listed = { name: "work", inputSchema, ...(outputSchema && { outputSchema }) };
  const definition = readTool(listed)?.definition;
  if (definition === undefined) throw new Error("this is no tool");
  const drafted = draftTools([definition], DRAFTING);
  expect(drafted.leftOut).toEqual([]);
  return parse(drafted.tools[0]?.text ?? "")["endpoint"] as EndpointTable & object;
}

describe("draftTools", () => {
  // The last is how servers of the SDK list a tool without arguments.
  it.each([
    [{ type: "object" }],
    [{ type: "object", properties: {} }],
    [{ $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: {} }],
  ])("wants no arguments for %j", (schema) => {
    expect(draft(schema)["input_schema"]).toEqual({
      ...{ type: "object", properties: {}, additionalProperties: false },
    });
  });

  it("wants no arguments for a tool whose output alone has to be translated", () => {
    const listed = { $schema: "http://json-schema.org/draft-07/schema#", type: "object" };
    const output = { ...listed, properties: { at: { type: "string" } }, required: ["at"] };
    expect(draft({ ...listed, properties: {} }, output)).toMatchObject({
      input_schema: { type: "object", properties: {}, additionalProperties: false },
      output_schema: { properties: { at: { type: "string" } }, required: ["at"] },
    });
  });

  it.each([
    ["tools:read", { readOnlyHint: true }],
    ["tools:write", { destructiveHint: false }],
    ["tools:write", {}],
  ])("asks for %s of who calls a tool that says %j", (scope, annotations) => {
    const listed = { name: "work", inputSchema: { type: "object" }, annotations };
    const definition = readTool(listed)?.definition;
    if (definition === undefined) throw new Error("this is no tool");
    const [drafted] = draftTools([definition], DRAFTING).tools;
    expect(drafted?.table["required_scopes"]).toEqual([scope]);
  });

  it("leaves what clients go by as it is", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: { place: { $anchor: "place", type: "string" } },
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        place: { $ref: "#/$defs/place" },
      },
      allOf: [{ anyOf: [{ required: ["region"] }, { required: ["place"] }] }],
      additionalProperties: false,
    };
    const output = { type: "object", properties: { iso: { type: "string" } } };
    expect(draft(schema, output)).toMatchObject({ input_schema: schema, output_schema: output });
  });

  it("hands on arguments under the names that the tool has for them, wherever it declares these", () => {
    const named = (name: string) => ({ properties: { [name]: { type: "string" } } });
    const own = { type: "object", properties: { kind: { type: "string" } } };
    const kindIsB = { properties: { kind: { const: "b" } } };
    const inputs = [
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      { ...own, allOf: [{ if: kindIsB, then: { ...named("b"), required: ["b"] } }] },
      { ...own, oneOf: [named("b"), { $ref: "#/$defs/c" }], $defs: { c: named("c") } },
    ];
    for (const input of inputs) {
      const { input_schema, handler } = draft(input);
      expect(input_schema).toMatchObject({ ...input, additionalProperties: false });
      expect(input_schema).toHaveProperty("properties.b", {});
      expect(handler).not.toHaveProperty("arguments");
    }
    expect(draft(inputs[1] ?? {})["input_schema"]).toHaveProperty("properties.c", {});
    const free = { type: "object", additionalProperties: { type: "number" } };
    expect(draft(free)["input_schema"]).toEqual({
      ...{ type: "object", properties: {}, additionalProperties: false },
    });
  });

  it("leaves out a tool whose arguments it cannot name", () => {
    const draft07 = { $schema: "http://json-schema.org/draft-07/schema#" };
    const either = { oneOf: [{ properties: { a: {} } }, { properties: { b: {} } }] };
    const definition = readTool({
      ...{ name: "work", inputSchema: { type: "object", ...draft07, ...either } },
    })?.definition;
    if (definition === undefined) throw new Error("this is no tool");
    const { tools, leftOut } = draftTools([definition], DRAFTING);
    expect(tools).toEqual([]);
    expect(leftOut).toEqual([{ tool: "work", reason: expect.stringContaining("arguments") }]);
  });

  /** The marks for a reviewer, and the file, of a tool. */
  function drafted(name: string, inputSchema: object, annotations: object = {}) {
    const definition = readTool({ name, inputSchema, annotations })?.definition;
    if (definition === undefined) throw new Error("this is no tool");
    const [tool] = draftTools([definition], DRAFTING).tools;
    if (tool === undefined) throw new Error("the tool is left out");
    return tool;
  }

  it.each([
    ["the server says that it changes nothing", { readOnlyHint: true }],
    ["the server says that it destroys nothing", { destructiveHint: false }],
    ["the strictest there is, the server does not say", {}],
  ])("has the impact reviewed once, by who said it: %s", (message, annotations) => {
    const { reviews } = drafted("work", { type: "object" }, annotations);
    expect(reviews.filter(({ key }) => key === "endpoint.semantic.impact")).toEqual([
      { key: "endpoint.semantic.impact", message },
    ]);
  });

  it.each([
    [true, { type: "object", additionalProperties: { type: "number" } }],
    [true, { type: "object", additionalProperties: true }],
    [false, { type: "object" }],
    [false, { type: "object", properties: { a: {} }, additionalProperties: true }],
  ])("says whether arguments of any name are refused: %s for %j", (isTold, schema) => {
    const messages = drafted("work", schema).reviews.map(({ message }) => message);
    const message = "it takes arguments of any name, which are refused here";
    expect(messages.includes(message)).toBe(isTold);
  });

  it.each([
    ["createIssue", "create-issue.toml"],
    ["日本", "tool.toml"],
  ])("writes %s to %s", (name, file) => {
    expect(drafted(name, { type: "object" }).file).toBe(file);
  });

  it("tells of a tool that it leaves out because its name is a blank", () => {
    const definitions = [" ", "work"].flatMap(
      (name) => readTool({ name, inputSchema: { type: "object" } })?.definition ?? [],
    );
    const { tools, leftOut } = draftTools(definitions, DRAFTING);
    expect(tools.map(({ tool }) => tool)).toEqual(["work"]);
    expect(leftOut).toEqual([{ tool: " ", reason: expect.any(String) }]);
  });

  it("says without null what TOML cannot say with it", () => {
    const text = { anyOf: [{ type: "string" }, { type: "null" }] };
    const order = { type: ["string", "null"], enum: ["asc", "desc", null] };
    const input = {
      type: "object",
      properties: { city: { ...text, default: null, title: "City" }, order, $ref: text },
      $defs: { city: { ...text, examples: [null, "Oslo"] } },
    };
    const drafted = draft(input, { type: "object", properties: { place: { const: null } } });
    expect(drafted["input_schema"]).toEqual({
      ...{ type: "object", additionalProperties: false },
      properties: {
        city: { ...text, title: "City" },
        order: { anyOf: [{ type: "string", enum: ["asc", "desc"] }, { type: "null" }] },
        $ref: text,
      },
      $defs: { city: { ...text, examples: ["Oslo"] } },
    });
    expect(drafted["output_schema"]).toMatchObject({ properties: { place: { type: "null" } } });
    const odd = { type: "object", properties: { a: { type: "string", "x-odd": null } } };
    expect(draft(odd)["input_schema"]).toMatchObject({ properties: { a: { type: "string" } } });
  });

  it("closes an input that it cannot leave as it is", () => {
    const properties = { a: { type: "string" } };
    for (const open of [
      { additionalProperties: true },
      { $schema: "http://json-schema.org/draft-07/schema#" },
    ]) {
      const drafted = draft({ type: "object", properties, ...open })["input_schema"];
      expect(drafted).toMatchObject({ properties, additionalProperties: false });
    }
  });
});
