/** Operations with every habit that OpenAPI allows, one at a time. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ImportedDocument, importDocument } from "../../src/openapi/import-document.ts";
import { loadShippedCatalog } from "../../src/openapi/import-files.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import type { EndpointTable } from "../support/openapi-program.ts";

const { catalog } = loadShippedCatalog();
const OK = { "200": { description: "x" } };

function importAll(document: object): ImportedDocument {
  const imported = importWhole(document);
  expect(imported.leftOut).toEqual([]);
  return imported;
}

function importWhole(document: object): ImportedDocument {
  const base = { openapi: "3.1.0", info: { title: "Shop", version: "1" } };
  const whole = { ...base, servers: [{ url: "https://x.example" }], ...document };
  const result = importDocument(whole, { catalog });
  if (result.kind === "fault") throw new Error(result.message);
  return result.imported;
}

interface One {
  readonly table: EndpointTable;
  readonly notes: readonly string[];
}

function importOne(operation: object, { method = "get", path = "/things", ...rest } = {}): One {
  const paths = { [path]: { [method]: { responses: OK, ...operation } } };
  const [endpoint] = importAll({ paths, ...rest }).endpoints;
  if (endpoint === undefined) throw new Error("no endpoint");
  const notes = endpoint.reviews.filter(({ key }) => key === "").map(({ message }) => message);
  return { table: endpoint.table, notes };
}

const json = (schema: object) => ({ content: { "application/json": { schema } } });

describe("parameters", () => {
  it.each([
    ["form", undefined, undefined],
    ["form", false, "comma"],
    ["spaceDelimited", false, "space"],
    ["pipeDelimited", undefined, "pipe"],
    ["deepObject", true, "deep"],
  ])("in the query of style %s, explode %s are written %s", (style, explode, expected) => {
    const schema = { type: "array", items: { type: "string" } };
    const parameters = [{ name: "tag[]", in: "query", style, explode, schema }];
    const { handler } = importOne({ parameters }).table;
    expect(handler.query).toEqual({ tag: "tag[]" });
    expect(handler.styles).toEqual(expected === undefined ? undefined : { tag: expected });
  });

  it("that may be null are written as if they might not: null is never sent", () => {
    const named = { type: ["object", "null"], properties: { a: {} } };
    const free = { anyOf: [{ type: "object", additionalProperties: true }, { type: "null" }] };
    const parameters = [
      { name: "named", in: "query", schema: { oneOf: [{ type: "null" }, named] } },
      { name: "free", in: "query", schema: free },
      { name: "X-Free", in: "header", explode: true, schema: free },
    ];
    const { handler } = importOne({ parameters }).table;
    expect(handler.query).toEqual({ a: "a", free: "free" });
    expect(handler.styles).toEqual({ free: "explode", x_free: "explode" });
  });

  it("that are objects are taken apart where HTTP takes them apart", () => {
    const schema = { type: "object", required: ["from"], properties: { from: {}, to: {} } };
    const parameters = [{ name: "range", in: "query", required: true, schema }];
    const { input_schema: input, handler } = importOne({ parameters }).table;
    expect(input).toMatchObject({ required: ["from"], properties: { from: {}, to: {} } });
    expect(handler.query).toEqual({ from: "from", to: "to" });
  });

  it("of the operation replace those of the path, and each has its own field", () => {
    const item = {
      parameters: [
        { name: "id", in: "path", required: true, schema: { type: "string" } },
        { name: "page", in: "query", schema: { type: "string" } },
      ],
      post: {
        parameters: [
          { name: "page", in: "query", schema: { type: "integer" } },
          { name: "id", in: "query", schema: { type: "boolean" } },
          { name: "ID", in: "header", schema: { type: "string" } },
        ],
        requestBody: json({ type: "object", properties: { id: { type: "number" } } }),
        responses: OK,
      },
    };
    const [endpoint] = importAll({ paths: { "/things/{id}": item } }).endpoints;
    const { input_schema: input, handler }: EndpointTable = endpoint?.table ?? {};
    const types = Object.entries(input.properties).map(([name, schema]) => [
      name,
      (schema as { type: string }).type,
    ]);
    expect(Object.fromEntries(types)).toEqual({
      ...{ id: "string", page: "integer", query_id: "boolean" },
      ...{ header_id: "string", body_id: "number" },
    });
    expect(handler).toMatchObject({
      query: { page: "page", query_id: "id" },
      header_fields: { header_id: "ID" },
      input_transform: { body_id: "id" },
    });
  });

  it("that cannot be sent are noted, and those that OpenAPI ignores are not there", () => {
    const names = ["Accept", "Authorization", "Host", "Not A Name"];
    const headers = names.map((name) => ({ name, in: "header", schema: {} }));
    const cookie = { name: "session", in: "cookie", required: true, schema: {} };
    const { table, notes } = importOne({ parameters: [...headers, cookie] });
    expect(table["input_schema"].properties).toEqual({});
    expect(notes.join("\n")).toMatch(/"Host".*\n.*"Not A Name".*\n.*required cookie "session"/);
  });

  it("in the path are text that a segment can carry", () => {
    const parameters = [
      { name: "ids", in: "path", required: true, schema: { type: "array", items: {} } },
    ];
    const { table, notes } = importOne({ parameters }, { path: "/things/{ids}" });
    expect(table["input_schema"].properties.ids.type).toBe("string");
    expect(notes.join()).toContain("commas");
  });
});

describe("what an external service cannot write", () => {
  const query = (schema: object) => ({ parameters: [{ name: "filter", in: "query", schema }] });
  const member = { type: "object", properties: { a: { type: "string" } } };

  it("is noted of a list in a path whose items have a prefix each", () => {
    const list = { type: "array", items: {} };
    const notesOf = (style: string, explode: boolean, schema: object) => {
      const parameters = [{ name: "id", in: "path", required: true, style, explode, schema }];
      return importOne({ parameters }, { path: "/things/{id}" }).notes.join();
    };
    for (const style of ["matrix", "label"]) {
      expect(notesOf(style, true, list)).toContain("as if it did not explode");
      expect(notesOf(style, false, list)).not.toContain("explode");
      expect(notesOf(style, true, { type: "string" })).toBe("");
    }
  });

  it("is noted of objects in the query, whose members are parameters", () => {
    const free = { type: "object", additionalProperties: { type: "string" } };
    const { table, notes } = importOne(query(free));
    expect([table["handler"].styles, notes]).toEqual([{ filter: "explode" }, []]);
    expect(importOne(query({ ...member, additionalProperties: true })).notes).toEqual([
      'members of "filter" that the document does not name are refused',
    ]);
    expect(importOne(query(member)).notes).toEqual([]);
  });

  it("is noted of bodies of another kind", () => {
    const types = ["application/json", "application/xml", "multipart/form-data"];
    const content = (schemas: readonly object[]) => ({
      content: Object.fromEntries(schemas.map((schema, at) => [types[at], { schema }])),
    });
    const file = { type: "object", properties: { file: { type: "string", format: "binary" } } };
    const notesOf = (requestBody: object) => importOne({ requestBody }, { method: "post" }).notes;
    expect(notesOf(content([member, member, file]))).toEqual([
      'the body of the type "multipart/form-data" is another one, left out',
    ]);
    expect(notesOf(content([member, member, member]))).toEqual([]);
    expect(notesOf({ content: { "multipart/mixed": { schema: member } } })).toEqual([
      'the body is "multipart/mixed", sent as multipart/form-data',
    ]);
  });

  it("is noted of calls of the API", () => {
    expect(importOne({ callbacks: { done: {} } }).notes).toEqual([
      "its callbacks are left out, they are calls of the API to you",
    ]);
  });

  it("is noted of a body whose schema others are made of", () => {
    const kind = { propertyName: "kind" };
    const Pet = { type: "object", properties: { kind: { type: "string" } }, discriminator: kind };
    const Cat = { allOf: [{ $ref: "#/components/schemas/Pet" }, { properties: { claws: {} } }] };
    const ofBody = (name: string) => {
      const requestBody = json({ $ref: `#/components/schemas/${name}` });
      return importOne({ requestBody }, {
        method: "post",
        components: { schemas: { Pet, Cat } },
      } as object);
    };
    expect(ofBody("Pet").notes).toEqual([
      "members of the schemas that its discriminator tells apart are refused in the body",
    ]);
    expect(ofBody("Cat").notes).toEqual([]);
    expect(Object.keys(ofBody("Cat").table["input_schema"].properties)).toEqual(["kind", "claws"]);
  });

  it("has a field for a member that is required and not described, and says so", () => {
    const inputOf = (more: object): { readonly schema: object; readonly notes: unknown } => {
      const schema = { type: "object", properties: { a: {} }, required: ["a", "grant"], ...more };
      const { table, notes } = importOne({ requestBody: json(schema) }, { method: "post" });
      return { schema: table["input_schema"], notes };
    };
    const { schema, notes } = inputOf({});
    expect(schema).toMatchObject({ properties: { a: {}, grant: {} }, required: ["a"] });
    expect(notes).toEqual([
      'the body requires "grant" and does not describe it: it may be anything',
    ]);
    expect(inputOf({ additionalProperties: false }).schema).not.toHaveProperty("properties.grant");
  });

  it("is noted of rules about members, one of which has another name here", () => {
    const schema = { ...member, properties: { id: {}, a: {} }, anyOf: [{ required: ["a"] }] };
    const parameters = [{ name: "id", in: "path", required: true, schema: {} }];
    const operation = { parameters, requestBody: json(schema) };
    expect(importOne(operation, { method: "put", path: "/things/{id}" }).notes).toEqual([
      "what the body says about members that go together is left out",
    ]);
  });
});

describe("bodies", () => {
  it("hold files, wherever the document says that a member is one", () => {
    const components = { schemas: { File: { type: "string", format: "binary" } } };
    const file = { $ref: "#/components/schemas/File" };
    const properties = {
      ...{ there: file, said: { allOf: [file], description: "x" } },
      many: { type: "array", items: file },
    };
    const requestBody = {
      content: { "multipart/form-data": { schema: { type: "object", properties } } },
    };
    const rest = { method: "post", components };
    const { there, said, many } = importOne({ requestBody }, rest).table["input_schema"].properties;
    expect(there.required).toEqual(["base64"]);
    expect([said, many.items]).toEqual([there, there]);
  });

  it("of a closed object that requires what it does not describe require what it does", () => {
    const closed = { type: "object", additionalProperties: false, properties: { a: {} } };
    const schema = { ...closed, required: ["a", "b"] };
    const responses = { "200": { description: "x", ...json(schema) } };
    expect(importOne({ responses }).table["output_schema"]).toMatchObject({ required: ["a"] });
    const elsewhere = { ...schema, allOf: [{ type: "object", properties: { b: {} } }] };
    const merged = importOne({ requestBody: json(elsewhere) }, { method: "post" });
    expect(merged.table["input_schema"]).toMatchObject({ required: ["b", "a"] });
  });

  it("say of which media types a file is, where the document does", () => {
    const file = { type: "string", format: "binary" };
    const properties = {
      ...{ photo: file, any: file, free: file, sdp: { type: "string" }, note: { type: "string" } },
      ...{ scans: { type: "array", items: file }, meta: { type: "object", properties: { a: {} } } },
      logo: { type: "string", contentMediaType: "image/gif" },
    };
    const encoding = {
      ...{ photo: { contentType: "image/PNG, image/jpeg; q=1" }, any: { contentType: "image/*" } },
      ...{ free: { contentType: "application/octet-stream, text/csv" } },
      ...{ sdp: { contentType: "application/sdp" }, note: { contentType: "text/plain" } },
      ...{ scans: { contentType: "image/tiff" }, meta: { contentType: "application/json" } },
    };
    const schema = { type: "object", properties };
    const requestBody = { content: { "multipart/form-data": { schema, encoding } } };
    const { table, notes } = importOne({ requestBody }, { method: "post" });
    const { photo, any, free, scans, logo } = table["input_schema"].properties;
    const told = [photo, any, free, scans.items, logo].map(({ required, properties: members }) => [
      required.includes("media_type"),
      members.media_type.enum,
    ]);
    expect(told).toEqual([
      [true, ["image/png", "image/jpeg"]],
      [false, undefined],
      [false, ["application/octet-stream", "text/csv"]],
      [true, ["image/tiff"]],
      [true, ["image/gif"]],
    ]);
    expect(notes).toEqual(['the part "sdp" is not sent as application/sdp, but as text/plain']);
  });

  it("that are forms have their objects in the style that is asked for, else as JSON", () => {
    const member = { type: "object", properties: { a: {} } };
    const properties = { plain: member, form: member, deep: member, list: { type: "array" } };
    const encoding = {
      ...{ form: { style: "form" }, deep: { style: "deepObject", explode: true } },
      list: { explode: true },
    };
    const schema = { type: "object", properties };
    const content = { "application/x-www-form-urlencoded": { schema, encoding } };
    const { table } = importOne({ requestBody: { content } }, { method: "post" });
    expect(table["handler"].styles).toEqual({ form: "explode", deep: "deep" });
  });

  it.each(["3.0.4", "3.1.0"])("hold files that may be null, as %s writes it", (openapi) => {
    const orNull = (schema: object, type: string): readonly object[] =>
      openapi === "3.0.4"
        ? [{ ...schema, type, nullable: true }]
        : [
            { anyOf: [{ ...schema, type }, { type: "null" }] },
            { oneOf: [{ type: "null" }, { ...schema, type }] },
            { ...schema, type: [type, "null"] },
          ];
    const files = orNull({ format: "binary" }, "string");
    const lists = files.flatMap((items) => orNull({ items }, "array"));
    for (const schema of orNull({ properties: { ...[...files, ...lists] } }, "object")) {
      const requestBody = { content: { "multipart/form-data": { schema } } };
      const document = { method: "post", openapi };
      const { table } = importOne({ requestBody }, document);
      const { properties } = table["input_schema"];
      const found = [...files, ...lists].map((_, index) => properties[index]);
      expect(found.map((one) => (one.items ?? one).required)).toEqual(found.map(() => ["base64"]));
    }
  });

  it("of DELETE are sent, those of GET are not", () => {
    const operation = { requestBody: json({ type: "object", properties: { a: {} } }) };
    expect(importOne(operation, { method: "delete" }).table["handler"].body_format).toBe("json");
    const { table, notes } = importOne(operation);
    expect(table["input_schema"].properties).toEqual({});
    expect(notes.join()).toContain("the body is left out, GET has none");
  });

  it("are sent where the document has them, and nothing in their place", () => {
    for (const method of ["post", "put", "patch"]) {
      expect(importOne({}, { method }).table["handler"].body_format).toBe("none");
      const requestBody = json({ type: "object", properties: { a: {} } });
      expect(importOne({ requestBody }, { method }).table["handler"].body_format).toBeUndefined();
    }
    expect(importOne({}, { method: "delete" }).table["handler"].body_format).toBeUndefined();
  });

  it("that are no object with members are one field", () => {
    const free = importOne({ requestBody: json({ type: "object" }) }, { method: "post" }).table;
    expect(free["handler"].body_field).toBe("body");
    const choice = { oneOf: [{ type: "object", properties: { a: {} } }, { type: "array" }] };
    const requestBody = { required: true, ...json(choice) };
    const { input_schema: input } = importOne({ requestBody }, { method: "post" }).table;
    expect(input.required).toEqual(["body"]);
    expect(input.properties.body.oneOf).toHaveLength(2);
  });

  it("that can have no members have no field", () => {
    const content = {
      "application/x-www-form-urlencoded": { schema: { type: "object", properties: {} } },
    };
    const { table, notes } = importOne({ requestBody: { content } }, { method: "post" });
    expect(table["input_schema"].properties).toEqual({});
    expect(table["handler"].body_format).toBe("form");
    expect(notes).toEqual([]);
  });

  it("keep what they say about members that go together", () => {
    const schema = {
      ...{ type: "object", properties: { a: {}, b: {} } },
      ...{ anyOf: [{ required: ["a"] }, { required: ["b"] }], dependentRequired: { a: ["b"] } },
    };
    const { input_schema: input } = importOne(
      { requestBody: json(schema) },
      { method: "put" },
    ).table;
    expect(input).toMatchObject({
      anyOf: schema.anyOf,
      dependentRequired: schema.dependentRequired,
    });
  });

  it("have the media type of the document, and so have the answers", () => {
    const type = "application/merge-patch+json; charset=utf-8";
    const requestBody = {
      content: { [type]: { schema: { type: "object", properties: { a: {} } } } },
    };
    const content = { "application/vnd.shop+json": { schema: {} }, "text/plain": { schema: {} } };
    const responses = { "200": { description: "", content } };
    const { handler } = importOne({ requestBody, responses }, { method: "patch" }).table;
    expect(handler.headers).toEqual({
      ...{ "Content-Type": "application/merge-patch+json", Accept: "application/vnd.shop+json" },
    });
  });
});

describe("answers", () => {
  it("that differ are alternatives, an empty one included", () => {
    const a = { type: "object", properties: { a: {} }, required: ["a"] };
    const b = { type: "array" };
    const responses = {
      "201": { description: "", ...json(b) },
      "200": { description: "", ...json(a) },
      "204": { description: "" },
      "2XX": { description: "", ...json(a) },
    };
    const { output_schema: output } = importOne({ responses }).table;
    expect(output.anyOf).toEqual([a, b, { type: "object", maxProperties: 0 }]);
  });

  it("are the default's where nothing else succeeds", () => {
    const responses = { default: { description: "", ...json({ type: "array" }) } };
    expect(importOne({ responses }).table["output_schema"]).toEqual({ type: "array" });
  });

  it("in another kind of content that holds something else are said to be left out", () => {
    const json = { schema: { type: "object" } };
    const notesOf = (other: object): readonly string[] => {
      const content = { "application/json": json, ...other };
      return importOne({ responses: { "200": { description: "", content } } }).notes;
    };
    expect(notesOf({ "application/xml": json })).toEqual([]);
    expect(
      notesOf({ "application/zip": { schema: { type: "string", format: "binary" } } }),
    ).toEqual(["it answers application/zip as well, which is something else and left out"]);
  });

  it("that redirect or are bytes are noted", () => {
    expect(importOne({ responses: { "302": { description: "" } } }).notes.join()).toContain(
      "redirect",
    );
    const content = { "application/pdf": { schema: {} } };
    const { table, notes } = importOne({ responses: { "200": { description: "", content } } });
    expect(table["handler"].response_format).toBe("binary");
    expect(notes).toContain("it answers application/pdf, which is in the member base64");
  });

  it("that fail are named, each by a name of its own", () => {
    const responses = {
      "400": { description: "Bad Request" },
      "401": { description: "The token is not good, or it is too old to be used. Get another." },
      "404": { description: "Thing not found." },
      "410": { description: "Thing not found" },
      "418": { description: "" },
      "4XX": { description: "Something" },
      "503": { description: "upstream_error" },
    };
    const { errors, handler } = importOne({ responses }).table;
    expect(handler.error_map).toEqual({
      ...{ "400": "invalid_request", "401": "unauthorized", "404": "thing_not_found" },
      ...{ "410": "gone", "418": "http_418", "503": "service_unavailable" },
    });
    expect(new Set(errors).size).toBe(errors.length);
  });
});

describe("an answer that is no JSON", () => {
  it.each(["text/csv", "image/png"])(
    "of %s may be empty, which is an empty object here",
    (type) => {
      const responses = { "200": { description: "", content: { [type]: {} } } };
      const { output_schema: schema } = importOne({ responses }).table;
      const { compiled } = createSchemaCompiler().compile(schema, { file: "x", key: "" });
      expect(compiled?.check({})).toBeUndefined();
      expect(compiled?.check({ media_type: 1 })).toBeDefined();
    },
  );
});

describe("credentials", () => {
  const securitySchemes = {
    head: { type: "apiKey", in: "header", name: "X-Key" },
    query: { type: "apiKey", in: "query", name: "api key" },
    cookie: { type: "apiKey", in: "cookie", name: "sid" },
    second: { type: "apiKey", in: "cookie", name: "csrf" },
    mutual: { type: "mutualTLS" },
    basic: { type: "http", scheme: "basic" },
    "second-key": { type: "apiKey", in: "query", name: "a" },
    secondKey: { type: "apiKey", in: "header", name: "B" },
    halved: { type: "apiKey", in: "query", name: "\ud800" },
    digest: { type: "http", scheme: "Digest" },
    oidc: { type: "openIdConnect", openIdConnectUrl: "https://x" },
  };
  const secured = (...security: readonly object[]) =>
    importOne({ security, parameters: [{ name: "x-key", in: "header", schema: {} }] }, {
      components: { securitySchemes },
    } as object);
  const variable = (name: string): string => `\${IMPORT_SHOP_${name}}`;

  it("are those of the first alternative that can be met", () => {
    const { table, notes } = secured(
      { mutual: [] },
      { head: [], query: [], cookie: [], second: [] },
    );
    expect(table["handler"]).toMatchObject({
      url: `https://x.example/things?api%20key=${variable("QUERY")}`,
      headers: {
        "X-Key": variable("HEAD"),
        Cookie: `sid=${variable("COOKIE")}; csrf=${variable("SECOND")}`,
      },
    });
    // The header is the credential, and no field.
    expect(table["input_schema"].properties).toEqual({});
    expect(notes).toEqual([]);
  });

  it("are noted where none can be met, unless they are optional", () => {
    expect(secured({ mutual: [] }, { digest: [] }).notes.join()).toContain(
      '"mutual" cannot be followed',
    );
    expect(secured({ mutual: [] }, {}).notes).toEqual([]);
    expect(secured({ halved: [] }).notes.join()).toContain('"halved" cannot be followed');
    expect(secured({}, { oidc: ["things:read"] }).table["handler"].headers).toEqual({
      Authorization: `Bearer ${variable("OIDC")}`,
    });
    expect(secured({ oidc: ["things:read"] }).notes.join()).toContain("things:read");
  });

  it("are noted where two of them would have one header", () => {
    const { table, notes } = secured({ oidc: [], basic: [] });
    expect(table["handler"].headers).toBeUndefined();
    expect(notes.join()).toContain('"basic" cannot be followed');
    expect(secured({ oidc: [], basic: [] }, { head: [] }).table["handler"].headers).toEqual({
      "X-Key": variable("HEAD"),
    });
  });

  it("have a variable each, however alike the names of their schemes", () => {
    const { handler } = secured({ "second-key": [], secondKey: [] }).table;
    expect(handler.url).toBe(`https://x.example/things?a=${variable("SECOND_KEY")}`);
    expect(handler.headers).toEqual({ B: variable("SECOND_KEY_2") });
  });

  it("are no fields of the input, not as members of an object either", () => {
    const schema = { type: "object", properties: { "api key": {}, page: {} } };
    const parameters = [{ name: "filter", in: "query", schema }];
    const { handler } = importOne({ security: [{ query: [] }], parameters }, {
      components: { securitySchemes },
    } as object).table;
    expect(handler.query).toEqual({ page: "page" });
  });
});

describe("required scopes", () => {
  it.each([
    ["/orders/{id}", {}, "orders:read"],
    ["/orders/{id}", { tags: ["Shop floor"] }, "shop-floor:read"],
    ["/", {}, "api:read"],
    ["/{id}", {}, "api:read"],
    ["/v2/{id}", { "x-agtp-namespace": "no token" }, "api:read"],
  ])("of %s with %j are %s", (path, operation, expected) => {
    expect(importOne(operation, { path }).table["required_scopes"]).toEqual([expected]);
  });
});

describe("an operation's own words about AGTP", () => {
  const semantic = {
    ...{ intent: "List things.", actor: "agent", outcome: "The things are returned." },
    ...{ capability: "discovery", confidence: 1, impact: "informational", is_idempotent: true },
  };

  it("ask for no scope where they name none, and for the usual one where theirs cannot be read", () => {
    const told = { "x-agtp-semantic": semantic };
    expect(importOne(told).table["required_scopes"]).toBeUndefined();
    const { table, notes } = importOne({ ...told, "x-agtp-required-scopes": "things:admin" });
    expect(table["required_scopes"]).toEqual(["api:read"]);
    expect(notes).toEqual(["x-agtp-required-scopes is not taken: expected a list of texts"]);
  });

  it.each([
    ["namespace", 7, "expected a text"],
    ["description", [], "expected a text"],
    ["errors", ["a", 1], "expected a list of texts"],
    ["deprecated", { deprecated_in: "1", note: null }, "expected an object without null"],
    ["deprecated", true, "expected an object without null"],
  ])("are noted where they are not taken: %s is %j", (name, value, message) => {
    const { table, notes } = importOne({ [`x-agtp-${name}`]: value });
    expect(notes).toEqual([`x-agtp-${name} is not taken: ${message}`]);
    expect(table["deprecated"]).toBeUndefined();
  });

  it.each([
    [{ method: "EXECUTE" }, "expected both of them"],
    [{ path: "/work" }, "expected both of them"],
    [{ method: "FLY", path: "/work" }, '"FLY" is not in the catalog'],
    [{ method: "EXECUTE", path: "/cancel" }, 'segment "cancel" is the name of a method'],
    [{ method: "EXECUTE", path: "/{id}" }, "the path has not the parameters of the document's"],
    [{ method: "DISCOVER", path: "/" }, "DISCOVER / belongs to another endpoint"],
  ])("are a doubt where the pair %j is not taken", (pair, message) => {
    const words = Object.entries(pair).map(([name, value]) => [`x-agtp-${name}`, value]);
    const paths = { "/things": { get: { responses: OK, ...Object.fromEntries(words) } } };
    const [endpoint] = importAll({ paths }).endpoints;
    expect(endpoint).toMatchObject({ method: "FETCH", path: "/things" });
    const doubt = endpoint?.reviews.find(({ key }) => key === "endpoint.method")?.message;
    expect(doubt).toContain(`x-agtp-method and x-agtp-path are not taken: ${message}`);
  });
});

describe("the document", () => {
  it("has as many operations as an export of 10,000 endpoints, and no more", () => {
    const pathsOf = (count: number): object =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`/t${at}`, { get: { responses: OK } }]),
      );
    // Their servers are looked at next.
    const importMany = (count: number) => () => importAll({ paths: pathsOf(count), servers: [] });
    expect(importMany(10_000)).toThrow(/server/);
    expect(importMany(10_001)).toThrow("has 10001 operations, expected at most 10000");
  });

  it("may have servers for a path or an operation, each of which is an API", () => {
    const paths = {
      "/a": { get: { responses: OK } },
      "/b": { servers: [{ url: "https://b.example/" }], get: { responses: OK } },
      "/c": { get: { servers: [{ url: "https://c.example" }], responses: OK } },
    };
    const { endpoints, baseUrls } = importAll({ paths });
    expect(endpoints.map(({ table }) => (table as EndpointTable)["handler"].url)).toEqual([
      ...["https://x.example/a", "https://b.example/b", "https://c.example/c"],
    ]);
    expect(baseUrls).toHaveLength(3);
  });

  it.each([300, 5000])("may have %i schemas that are made of each other", (count) => {
    const name = (index: number) => `S${index % count}`;
    const ref = (index: number) => ({ $ref: `#/components/schemas/${name(index)}` });
    const schemas = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [name(index), { allOf: [ref(index + 1)] }]),
    );
    const post = { requestBody: json(ref(0)), responses: OK };
    expect(
      importAll({ components: { schemas }, paths: { "/a": { post } } }).endpoints,
    ).toHaveLength(1);
  });

  it("is told what is left out of it", () => {
    const paths = { "/a": { get: { responses: OK }, trace: { responses: OK } } };
    const { notes, endpoints, leftOut } = importWhole({ paths, webhooks: { x: {} } });
    expect(endpoints).toHaveLength(1);
    expect(leftOut).toEqual([
      { operation: "TRACE /a", reason: expect.stringMatching(/^its HTTP method is none that/) },
    ]);
    expect(notes.join("\n")).toMatch(/webhooks are left out/);
  });

  it("may have path items, parameters, bodies and responses elsewhere", () => {
    const components = {
      pathItems: {
        item: {
          post: {
            requestBody: { $ref: "#/components/requestBodies/b" },
            responses: { "200": { $ref: "#/components/responses/r" } },
          },
        },
      },
      requestBodies: { b: json({ type: "object", properties: { a: { type: "integer" } } }) },
      responses: { r: { description: "", ...json({ type: "array" }) } },
    };
    const [endpoint] = importAll({
      paths: { "/x": { $ref: "#/components/pathItems/item" } },
      components,
    }).endpoints;
    expect(endpoint?.table).toMatchObject({
      input_schema: { properties: { a: { type: "integer" } } },
      output_schema: { type: "array" },
    });
  });

  it("of any nonsense becomes endpoints that can be served, or is left out", () => {
    const word = fc.constantFrom(
      ...[
        "name",
        "in",
        "path",
        "query",
        "header",
        "schema",
        "required",
        "content",
        "$ref",
        "style",
      ],
      ...["application/json", "multipart/form-data", "text/plain", "200", "404", "default", "type"],
      ...["object", "properties", "__proto__", "array", "id", "items", "allOf", "#/paths/~1x", "#"],
      ...["parameters", "requestBody", "responses", "servers", "security", "url", "explode"],
    );
    const leaf = fc.oneof(word, fc.constant(null), fc.boolean(), fc.integer(), fc.string());
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "medium" },
        leaf,
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.oneof(word, fc.string()), tie("value"), { maxKeys: 6 }),
      ),
    }));
    const path = fc.oneof(
      fc.constantFrom("/x", "/x/{id}", "/x/cancel"),
      fc.string().map((text) => `/${text}`),
    );
    fc.assert(
      fc.property(path, value, value, value, (at, parameters, requestBody, responses) => {
        const operation = { parameters, requestBody, responses };
        const document = {
          ...{ openapi: "3.1.0", info: {}, servers: [{ url: "https://x.example" }] },
          paths: { [at]: { post: operation, get: operation, ...{ parameters } } },
        };
        const result = importDocument(document, { catalog });
        if (result.kind === "fault") throw new Error(result.message);
        const { endpoints, leftOut } = result.imported;
        expect(endpoints.length + leftOut.length).toBe(2);
        for (const { reason } of leftOut) expect(reason).toContain("leads to nothing");
      }),
      { numRuns: 150, examples: [["/x", {}, { content: { "": "" } }, {}]] },
    );
  });

  it("of nonsense is survived", () => {
    const nonsense = {
      parameters: [1, null, { name: 2 }, { name: "x", in: "body" }, { name: "y", in: "query" }],
      requestBody: { content: { "application/json": 3, "": {} } },
      ...{
        responses: { "200": 4, "299": null, x: [] },
        tags: [5, ""],
        security: [6, { nobody: 7 }],
      },
      ...{
        summary: 8,
        description: [],
        servers: "x",
        operationId: "",
        "x-agtp-semantic": { intent: 1 },
      },
    };
    const { table, notes } = importOne(nonsense, { method: "post" });
    expect(table["method"]).toBe("CREATE");
    expect(notes.join("\n")).toContain("x-agtp-semantic is not taken");
  });
});
