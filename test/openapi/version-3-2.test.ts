/** Documents of OpenAPI 3.2: what is new in them, imported, left out and said. */
import { describe, expect, it } from "vitest";
import { type ImportedDocument, importDocument } from "../../src/openapi/import-document.ts";
import { loadShippedCatalog } from "../../src/openapi/import-files.ts";
import { checkDocument, readDocument } from "../../src/openapi/read-document.ts";
import { validateDocument } from "../../src/openapi/validate-document.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import type { EndpointTable } from "../support/openapi-program.ts";

const { catalog } = loadShippedCatalog();
const OK = { "200": { description: "x" } };
const DEVICE = {
  ...{ deviceAuthorizationUrl: "https://x.example/device", tokenUrl: "https://x.example/token" },
  scopes: {},
};
const json = (schema: object) => ({ content: { "application/json": { schema } } });

async function read(rest: object) {
  const base = { openapi: "3.2.0", info: { title: "Shop", version: "1" } };
  const whole = { ...base, servers: [{ url: "https://x.example", name: "prod" }], ...rest };
  const result = await readDocument(JSON.stringify(whole));
  if (result.kind === "fault") throw new Error(result.message);
  return result.document;
}

async function importAll(rest: object): Promise<ImportedDocument> {
  const document = await read(rest);
  expect(checkDocument(document)).toEqual([]);
  const result = importDocument(document, { catalog });
  if (result.kind === "fault") throw new Error(result.message);
  return result.imported;
}

interface Rest {
  readonly method?: string;
  readonly [member: string]: unknown;
}

async function importOne(operation: object, { method = "get", ...rest }: Rest = {}) {
  const paths = { "/things": { [method]: { responses: OK, ...operation } } };
  const { endpoints, leftOut } = await importAll({ paths, ...rest });
  const [endpoint] = endpoints;
  const notes = endpoint?.reviews.filter(({ key }) => key === "").map(({ message }) => message);
  return { table: endpoint?.table as EndpointTable, notes, leftOut, endpoint };
}

describe("references by URI", () => {
  const Pet = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const paths = (schema: object) => ({
    "/pets": { post: { requestBody: { required: true, ...json(schema) }, responses: OK } },
  });
  const input = async (rest: object) =>
    (await importAll(rest)).endpoints[0]?.table["input_schema"] as EndpointTable;

  it.each([
    ["$self", "https://api.example/openapi", "https://api.example/openapi#/components/schemas/Pet"],
    ["a relative $self", "/api/openapi", "openapi#/components/schemas/Pet"],
    ["$self, relative to it", "https://api.example/a/b", "../a/b#/components/schemas/Pet"],
    ["a $self that is a URN", "urn:uuid:1", "urn:uuid:1#/components/schemas/Pet"],
  ])("are followed where they are %s", async (_, $self, $ref) => {
    const schema = await input({ $self, components: { schemas: { Pet } }, paths: paths({ $ref }) });
    expect(schema).toMatchObject({ properties: Pet.properties, required: ["name"] });
  });

  it.each([
    ["by an $id", "https://s.example/pet", "https://s.example/pet"],
    ["by an $id of no scheme", "pet", "pet"],
    ["by a pointer behind an $id", "pet", "pet#/$defs/Inner"],
    ["by an $anchor", "pet", "pet#inner"],
  ])("are followed %s", async (_, $id, $ref) => {
    const Inner = { ...Pet, $anchor: "inner" };
    const Whole = { $id, ...Pet, $defs: { Inner }, properties: { name: { $ref: "#/$defs/Text" } } };
    const schemas = { Some: { ...Whole, $defs: { Inner, Text: { type: "string" } } } };
    const schema = await input({ components: { schemas }, paths: paths({ $ref }) });
    expect(schema).toMatchObject({ properties: Pet.properties, required: ["name"] });
  });

  it("are followed from the document where an $id is in the way", async () => {
    const schemas = { Pet, Owner: { $id: "owner", allOf: [{ $ref: "#/components/schemas/Pet" }] } };
    const $ref = "#/components/schemas/Owner";
    expect(await input({ components: { schemas }, paths: paths({ $ref }) })).toMatchObject({
      properties: Pet.properties,
    });
  });

  it("to anything else are refused, and never opened", async () => {
    for (const $ref of ["https://api.example/other#/a", "pets.json", "file:///etc/passwd"]) {
      const document = await read({ $self: "https://api.example/x", paths: paths({ $ref }) });
      expect(checkDocument(document).join()).toContain("is outside the document");
    }
  });

  it("in an example are data", async () => {
    const $ref = "https://api.example/x#/info";
    const examples = { one: { dataValue: { $ref } } };
    const content = { "application/json": { schema: Pet, examples } };
    const post = { requestBody: { content }, responses: OK };
    await importAll({ $self: "https://api.example/x", paths: { "/pets": { post } } });
  });

  it("mean nothing in 3.0", async () => {
    const schemas = { Pet: { $id: "pet", ...Pet } };
    const document = await read({
      ...{ openapi: "3.0.4", components: { schemas }, paths: paths({ $ref: "pet" }) },
    });
    expect(checkDocument(document).join()).toContain("is outside the document");
  });
});

describe("operations of other methods", () => {
  it("are left out, with the reason, and the rest is imported", async () => {
    const operation = { responses: OK };
    const additionalOperations = { COPY: operation, get: operation, PATCH: operation };
    const item = { get: operation, query: operation, additionalOperations };
    const { endpoints, leftOut } = await importAll({ paths: { "/things": item } });
    expect(endpoints.map((one) => one.operation.httpMethod)).toEqual(["GET", "PATCH"]);
    expect(leftOut.map((one) => one.operation)).toEqual([
      ...["QUERY /things", "COPY /things", "get /things"],
    ]);
    expect(leftOut[0]?.reason).toMatch(
      /^its HTTP method is none that an external service has: GET/,
    );
  });

  it("alone are no document", async () => {
    const document = await read({ paths: { "/things": { query: { responses: OK } } } });
    expect(importDocument(document, { catalog })).toMatchObject({
      message: expect.stringMatching(
        /^has no operations but those like "QUERY \/things": its HTTP/,
      ),
    });
  });
});

describe("a query string", () => {
  const querystring = (content: object, required = true) => ({
    parameters: [{ name: "filter", in: "querystring", required, content }],
  });

  it("of a form is a parameter for each member, as its encoding says", async () => {
    const schema = {
      ...{ type: "object", required: ["foo"] },
      properties: { foo: { type: "string" }, ids: { type: "array", items: { type: "integer" } } },
    };
    const encoding = { ids: { style: "pipeDelimited" } };
    const content = { "application/x-www-form-urlencoded": { schema, encoding } };
    const { table } = await importOne(querystring(content));
    expect(table["input_schema"]).toMatchObject({
      required: ["foo"],
      properties: schema.properties,
    });
    expect(table["handler"]).toMatchObject({
      ...{ url: "https://x.example/things", query: { foo: "foo", ids: "ids" } },
      styles: { ids: "pipe" },
    });
  });

  it.each(["application/json", "application/jsonpath"])("of %s is one text", async (type) => {
    const { table, notes } = await importOne(querystring({ [type]: { schema: {} } }));
    expect(table["handler"].url).toBe("https://x.example/things?{filter}");
    expect(table["input_schema"]).toMatchObject({
      ...{ required: ["filter"] },
      properties: { filter: { type: "string", contentMediaType: type } },
    });
    expect(notes).toEqual([]);
  });

  it("that is optional and no form is required, which is said", async () => {
    const { notes } = await importOne(querystring({ "text/plain": {} }, false));
    expect(notes).toEqual(['the query string "filter" is optional there, and required here']);
  });
});

describe("content", () => {
  it("may be a component", async () => {
    const schema = { type: "object", properties: { name: { type: "string" } } };
    const mediaTypes = { Pet: { schema } };
    const $ref = "#/components/mediaTypes/Pet";
    const content = { "application/json": { $ref } };
    const operation = { requestBody: { content }, responses: { "200": { content } } };
    const rest = { method: "post", components: { mediaTypes } };
    const { table } = await importOne(operation, rest);
    expect(table["input_schema"].properties).toEqual(schema.properties);
    expect(table["output_schema"]).toEqual(schema);
  });

  it.each([
    ...["text/event-stream", "application/jsonl", "application/x-ndjson", "application/json-seq"],
    ...["application/geo+json-seq", "application/stream+json"],
  ])("of %s is a list of its items, awaited whole, and that is said", async (type) => {
    const itemSchema = { $ref: "#/components/schemas/Item" };
    const Item = { type: "object", properties: { data: { type: "string" } } };
    const operation = { responses: { "200": { content: { [type]: { itemSchema } } } } };
    const { table, notes } = await importOne(operation, { components: { schemas: { Item } } });
    expect(table["output_schema"]).toEqual({ type: "array", items: Item });
    const format = type === "text/event-stream" ? "events" : "json_lines";
    expect(table["handler"]).toMatchObject({ response_format: format, headers: { Accept: type } });
    expect(notes).toEqual([expect.stringContaining("the answer has to end")]);
  });

  it("of lines is a list as its schema has it, and of its items", async () => {
    const schema = { type: "array", maxItems: 9 };
    const list = { type: "array", items: { type: "object" } };
    const outputOf = async (mediaType: object): Promise<unknown> => {
      const content = { "application/jsonl": mediaType };
      const { table } = await importOne({ responses: { "200": { content } } });
      expect(table["handler"].response_format).toBe("json_lines");
      return table["output_schema"];
    };
    expect(await outputOf({ schema })).toEqual(schema);
    expect(await outputOf({ schema, itemSchema: list.items })).toEqual({ allOf: [schema, list] });
  });

  it.each([
    ["text/event-stream", { schema: { type: "array", items: { type: "object" } } }],
    ["application/x-ndjson", { schema: { type: "object" } }],
  ])("of %s whose items nobody describes is awaited whole, as text", async (type, mediaType) => {
    const content = { [type]: mediaType };
    const { table, notes } = await importOne({ responses: { "200": { content } } });
    expect(table["handler"].response_format).toBe("text");
    expect(notes).toEqual([
      `it answers ${type}, which is in the member text`,
      expect.stringContaining("the answer has to end"),
    ]);
  });

  it.each([
    ["itemSchema", { itemSchema: {}, itemEncoding: {} }],
    ["an array", { schema: { type: "array", items: {} }, prefixEncoding: [{}] }],
  ])("of parts without names, by %s, cannot be sent", async (_, mediaType) => {
    const content = { "multipart/mixed": mediaType };
    const required = await importOne(
      { requestBody: { required: true, content } },
      { method: "post" },
    );
    expect(required.leftOut).toEqual([
      {
        operation: "POST /things",
        reason: 'its body is "multipart/mixed" of parts without names, which cannot be sent',
      },
    ]);
    const { table, notes } = await importOne({ requestBody: { content } }, { method: "post" });
    expect(table["input_schema"].properties).toEqual({});
    expect(notes?.join()).toContain("which cannot be sent, left out");
    const open = { "multipart/form-data": { schema: { anyOf: [{ type: "object" }] } } };
    const named = await importOne({ requestBody: { content: open } }, { method: "post" });
    expect(named.table["handler"]).toMatchObject({ body_format: "multipart", body_field: "body" });
  });
});

describe("credentials", () => {
  const components = {
    securitySchemes: {
      old: { type: "apiKey", name: "X-Old", in: "header", deprecated: true },
      device: {
        type: "oauth2",
        oauth2MetadataUrl: "https://x.example/.well-known/oauth-authorization-server",
        flows: {
          deviceAuthorization: DEVICE,
        },
      },
    },
  };

  it("that are deprecated are the last choice, and that is said", async () => {
    const security = [{ old: [] }, { device: [] }];
    const both = await importOne({ security }, { components });
    expect(Object.keys(both.table["handler"].headers)).toEqual(["Authorization"]);
    expect(both.notes).toEqual([]);
    const one = await importOne({ security: [{ old: [] }] }, { components });
    expect(Object.keys(one.table["handler"].headers)).toEqual(["X-Old"]);
    expect(one.notes).toEqual([
      'the security scheme "old" is deprecated, and there is no other one',
    ]);
  });

  it.each([
    "#/components/securitySchemes/device",
    "https://x.example/openapi#/components/securitySchemes/device",
    "openapi#/components/securitySchemes/device",
  ])("may be named by %s", async (uri) => {
    const rest = { components, $self: "https://x.example/openapi" };
    const { table, notes } = await importOne({ security: [{ [uri]: [] }] }, rest);
    expect(Object.keys(table["handler"].headers)).toEqual(["Authorization"]);
    expect(notes).toEqual([]);
  });
});

describe("tags, responses, discriminators", () => {
  it("has the namespace of a tag that is about what the operation does", async () => {
    const tags = [
      { name: "partner", kind: "audience" },
      { name: "beta", kind: "badge" },
      { name: "pets", kind: "nav", parent: "animals", summary: "Pets" },
      { name: "animals" },
    ];
    const { table } = await importOne({ tags: ["partner", "beta", "pets"] }, { tags });
    expect(table["namespace"]).toBe("pets");
  });

  it("has its outcome and its errors of the summaries where there is no description", async () => {
    const responses = {
      "200": { summary: "The things, newest first" },
      "404": { summary: "No such shop", description: "A long tale. Of two sentences." },
    };
    const { table } = await importOne({ responses });
    expect(table["semantic"].outcome).toBe("The things, newest first.");
    expect(table["handler"].error_map).toEqual({ "404": "no_such_shop" });
  });

  it.each(["Other", "#/components/schemas/Other"])("defaults to %s", async (defaultMapping) => {
    const branch = (properties: object, ...required: readonly string[]) => ({
      ...{ type: "object", properties: { kind: { type: "string" }, ...properties }, required },
    });
    const schemas = {
      Cat: branch({ claws: { type: "integer" } }, "kind", "claws"),
      Dog: branch({ pack: { type: "integer" } }, "kind"),
      Other: branch({}),
    };
    const oneOf = Object.keys(schemas).map((name) => ({ $ref: `#/components/schemas/${name}` }));
    const discriminator = { propertyName: "kind", mapping: { cat: "Cat" }, defaultMapping };
    const body = { requestBody: { required: true, ...json({ oneOf, discriminator }) } };
    const { table } = await importOne(body, { method: "post", components: { schemas } });
    const place = { file: "x", key: "" };
    const { compiled } = createSchemaCompiler().compile(table["input_schema"], place);
    const takes = (value: object) => compiled?.check({ body: value }) === undefined;
    const values = [{ kind: "cat", claws: 1 }, { kind: "Dog" }, { kind: "bird" }, {}];
    expect(values.map(takes)).toEqual([true, true, true, true]);
    expect(takes({ kind: "cat" })).toBe(false);
  });
});

describe("what a document of 3.2 breaks", () => {
  it("is nothing where it only has what is new", async () => {
    const response = { summary: "x", content: { "application/jsonl": { itemSchema: {} } } };
    const parameters = [
      { name: "q", in: "querystring", content: { "application/json": { schema: {} } } },
      { name: "c", in: "cookie", style: "cookie", schema: {} },
      { name: "h", in: "header", schema: {}, examples: { a: { dataValue: 1 } } },
    ];
    const get = { parameters, responses: { "200": response } };
    const item = { get, query: { responses: OK }, additionalOperations: { COPY: get } };
    const document = await read({
      $self: "https://x.example/openapi",
      tags: [
        { name: "a", summary: "A", kind: "nav" },
        { name: "b", parent: "a" },
      ],
      components: {
        securitySchemes: {
          o: { type: "oauth2", deprecated: true, flows: { deviceAuthorization: DEVICE } },
        },
      },
      paths: { "/things": item },
    });
    expect(await validateDocument(document)).toEqual([]);
  });

  it.each([
    [{ get: { responses: OK, parameters: ["querystring", "query"] } }, "beside query parameters"],
    [{ parameters: ["query"], post: { parameters: ["querystring"] } }, "beside query parameters"],
    [{ get: { parameters: ["querystring", "querystring"] } }, "more than one querystring"],
    [{ additionalOperations: { POST: {} } }, '"POST" has a field of its own'],
    [{ get: { responses: { "700": {} } } }, "must have required property"],
  ])("is said of %j", async (written, message) => {
    const parameter = (place: string, index: number) => ({
      ...{ name: `p${index}`, in: place, content: { "text/plain": {} } },
    });
    const named = JSON.parse(JSON.stringify(written), (key, value) =>
      key === "parameters" ? value.map(parameter) : value,
    );
    const warnings = await validateDocument(await read({ paths: { "/things": named } }));
    expect(warnings.join("\n")).toContain(message);
  });
});
