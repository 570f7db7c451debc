// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are placeholders of the files
import { describe, expect, it } from "vitest";
import { formatProblem, isError } from "../../src/base/problem.ts";
import type { EndpointDefinition } from "../../src/endpoint/endpoint.ts";
import { type EndpointFile, parseEndpointFile } from "../../src/endpoint/endpoint-file.ts";
import { BOOK_ROOM, FETCH_ARTICLE } from "../support/endpoint-toml.ts";
import { smallVocabulary } from "../support/vocabulary.ts";

const ENV = { API_HOST: "api.acme.example", API_TOKEN: "s3cret", EMPTY: "" };

function parse(text: string): EndpointFile {
  const context = { ...smallVocabulary(), directory: "/nowhere", env: ENV };
  return parseEndpointFile(text, "endpoints/x.toml", context);
}

function definitionOf(text: string): EndpointDefinition {
  const { definition, problems } = parse(text);
  expect(problems).toEqual([]);
  if (definition === undefined) throw new Error("no definition");
  return definition;
}

/** The problems after replacing one thing in a valid file, which must be there. */
function problemsAfter(text: string, from: string | RegExp, to: string): readonly string[] {
  const spoilt = text.replace(from, to);
  expect(spoilt).not.toBe(text);
  const { definition, problems } = parse(spoilt);
  if (problems.length > 0) expect(definition).toBeUndefined();
  return problems.map((problem) => formatProblem(problem).replace("endpoints/x.toml: ", ""));
}

// AGTP-API §6.2, §6.3
describe("an endpoint file with schemas", () => {
  it("becomes a definition", () => {
    expect(definitionOf(BOOK_ROOM)).toEqual({
      file: "endpoints/x.toml",
      method: "BOOK",
      path: "/room/{property_id}",
      description: "Books a room for the named guest at the named property.",
      namespace: "reservations",
      semantic: {
        intent: "Reserve a room for the named guest at the named property.",
        actor: "agent",
        outcome: "A confirmed reservation_id is returned for the guest.",
        capability: "transaction",
        confidence: 0.85,
        impact: "irreversible",
        is_idempotent: false,
      },
      inputSchema: {
        type: "object",
        required: ["property_id", "guest_id"],
        additionalProperties: false,
        properties: {
          property_id: { type: "string" },
          guest_id: { type: "string", format: "uuid" },
        },
      },
      outputSchema: {
        type: "object",
        required: ["reservation_id"],
        properties: { reservation_id: { type: "string" } },
      },
      errors: ["room_unavailable", "invalid_dates"],
      requiredScopes: ["booking:room"],
      deprecated: {
        deprecated_in: "2.1.0",
        removed_in: "3.0.0",
        successor: { method: "RESERVE", path: "/lodgings" },
      },
      handler: { type: "registered_function", function: "endpoints.reservations.book_room" },
    });
  });

  it("has plain objects as schemas, with dates as texts", () => {
    const { inputSchema } = definitionOf(
      BOOK_ROOM.replace('format = "uuid"', "default = 2024-02-29\nexamples = [10:30:00]"),
    );
    expect(Object.getPrototypeOf(inputSchema)).toBe(Object.prototype);
    expect(inputSchema["properties"]).toMatchObject({
      guest_id: { default: "2024-02-29", examples: ["10:30:00.000"] },
    });
  });

  it("needs neither namespace nor scopes nor deprecation", () => {
    const text = BOOK_ROOM.replace(/namespace.*\nrequired_scopes.*\n/, "").split(
      "[endpoint.dep",
    )[0];
    const definition = definitionOf(text ?? "");
    expect(definition.requiredScopes).toEqual([]);
    expect("namespace" in definition || "deprecated" in definition).toBe(false);
  });

  it.each([
    ["method", "endpoint.method: is missing, expected a text"],
    ["path", "endpoint.path: is missing, expected a text"],
    ["description", "endpoint.description: is missing, expected a text"],
    ["errors", "endpoint.errors: is missing, expected a list of names (it may be [])"],
    ["intent", "endpoint.semantic.intent: is missing, expected a text"],
    ["actor", "endpoint.semantic.actor: is missing, expected a text"],
    ["outcome", "endpoint.semantic.outcome: is missing, expected a text"],
    [
      "capability",
      "endpoint.semantic.capability: is missing, expected one of discovery, retrieval",
    ],
    ["confidence", "endpoint.semantic.confidence: is missing, expected a number from 0 to 1"],
    ["impact", "endpoint.semantic.impact: is missing, expected one of informational, reversible"],
    ["is_idempotent", "endpoint.semantic.is_idempotent: is missing, expected true or false"],
    ["function", "endpoint.handler.function: is missing, expected a text"],
    ["deprecated_in", "endpoint.deprecated.deprecated_in: is missing, expected a text"],
  ])("must have %s", (key, message) => {
    const problems = problemsAfter(BOOK_ROOM, new RegExp(`\n${key} = .*`), "");
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  it.each(["semantic", "output_schema", "handler"])("must have the table %s", (table) => {
    const sections = BOOK_ROOM.split(/\n(?=\[)/).filter(
      (part) => !part.startsWith(`[endpoint.${table}`),
    );
    const problems = parse(sections.join("\n")).problems.map(formatProblem);
    expect(problems.join("\n")).toContain(`endpoint.${table}: is missing, expected`);
  });

  it.each<[string, string | RegExp, string, string]>([
    [
      "an unknown key",
      "namespace =",
      "namespaec =",
      "endpoint.namespaec: unknown key (did you mean namespace?)",
    ],
    [
      "an unknown key in a table",
      "actor =",
      "aktor = 1\nactor =",
      "endpoint.semantic.aktor: unknown key (did you mean actor?)",
    ],
    ["an unknown table", /$/, "\n[endpoints]\n", "endpoints: unknown key (did you mean endpoint?)"],
    [
      "a lower-case method",
      '"BOOK"',
      '"book"',
      'endpoint.method: "book" is no method name, expected 3 to 32 letters A to Z (did you mean BOOK?)',
    ],
    [
      "an unknown method",
      '"BOOK"',
      '"BOOKK"',
      'endpoint.method: "BOOKK" is not in the method catalog at version 1.0.0 (did you mean BOOK?)',
    ],
    [
      "a method that is like no other",
      '"BOOK"',
      '"XYZZYX"',
      `endpoint.method: "XYZZYX" is not in the method catalog at version 1.0.0 (policies.methods.custom names methods of a server's own)`,
    ],
    [
      "a legacy verb",
      '"BOOK"',
      '"GET"',
      'endpoint.method: "GET" is a legacy verb, which no new definition may use (use FETCH)',
    ],
    ["a method that is a number", '"BOOK"', "7", "endpoint.method: is 7, expected a text"],
    ["a path without a slash", '"/room/', '"room/', "endpoint.path:"],
    ["a trailing slash", "{property_id}", "{property_id}/", "endpoint.path:"],
    [
      "a method in the path",
      "/room/",
      "/bo-ok/",
      'endpoint.path: segment "bo-ok" is the name of a method',
    ],
    ["a mixed segment", "/{property_id}", "/p-{property_id}", "endpoint.path:"],
    ["a parameter twice", "{property_id}", "{property_id}/{property_id}", "endpoint.path:"],
    [
      "an undeclared parameter",
      "{property_id}",
      "{room_id}",
      'endpoint.path: parameter "room_id" is no field of the input schema (declare room_id among the properties of the input)',
    ],
    [
      "a parameter that text cannot be",
      'property_id]\ntype = "string"',
      'property_id]\ntype = "object"',
      'endpoint.path: parameter "property_id" has a type that text cannot become',
    ],
    [
      "a blank description",
      /description = .*/,
      'description = "  "',
      'endpoint.description: is "  ", expected a text',
    ],
    [
      "an unknown capability",
      '"transaction"',
      '"transactoin"',
      'endpoint.semantic.capability: is "transactoin", expected one of',
    ],
    ["a capability misspelt", '"transaction"', '"transactoin"', "(did you mean transaction?)"],
    [
      "an unknown impact",
      '"irreversible"',
      '"final"',
      'endpoint.semantic.impact: is "final", expected one of informational, reversible, irreversible',
    ],
    [
      "confidence above 1",
      "0.85",
      "1.01",
      "endpoint.semantic.confidence: is 1.01, expected a number from 0 to 1",
    ],
    ["confidence that is none", "0.85", "nan", "endpoint.semantic.confidence: is NaN, expected"],
    ["confidence as text", "0.85", '"0.85"', 'endpoint.semantic.confidence: is "0.85", expected'],
    [
      "idempotency as text",
      "is_idempotent = false",
      'is_idempotent = "no"',
      'endpoint.semantic.is_idempotent: is "no", expected true or false',
    ],
    [
      "an open input",
      "additionalProperties = false",
      "",
      "endpoint.input_schema.additionalProperties: must be false (an input refuses",
    ],
    [
      "an explicitly open input",
      "additionalProperties = false",
      "additionalProperties = true",
      "endpoint.input_schema.additionalProperties: must be false",
    ],
    [
      "an input that is no object",
      'input_schema]\ntype = "object"',
      'input_schema]\ntype = "array"',
      'endpoint.input_schema.type: must be "object"',
    ],
    [
      "a requirement that nothing meets",
      '["property_id", "guest_id"]',
      '["guest"]',
      'endpoint.input_schema.required: "guest" is not among the properties',
    ],
    [
      "an error twice",
      '"invalid_dates"',
      '"room_unavailable"',
      'endpoint.errors[1]: is "room_unavailable" a second time',
    ],
    [
      "an error that is no name",
      '"invalid_dates"',
      '"invalid dates"',
      'endpoint.errors: "invalid dates" is no error name',
    ],
    [
      "errors that are a text",
      /errors = .*/,
      'errors = "a"',
      'endpoint.errors: is "a", expected a list of texts',
    ],
    [
      "a scope of one segment",
      '"booking:room"',
      '"booking"',
      'endpoint.required_scopes: "booking" is no scope, expected two or more segments',
    ],
    [
      "an unknown handler",
      '"registered_function"',
      '"registered_funktion"',
      'endpoint.handler.type: is "registered_funktion", expected one of registered_function, composition, external_service, mcp_tool (did you mean registered_function?)',
    ],
    [
      "a function without a module",
      '"endpoints.reservations.book_room"',
      '"book_room"',
      'endpoint.handler.function: is "book_room", expected a dotted path',
    ],
    [
      "a function that is a path",
      '"endpoints.reservations.book_room"',
      '"../book.room"',
      "endpoint.handler.function:",
    ],
    [
      "a composition without its error",
      '"registered_function"\nfunction',
      '"composition"\nrecipe',
      'endpoint.errors: must include "composition_failed"',
    ],
    [
      "a version with a semicolon",
      '"3.0.0"',
      '"3;x"',
      'endpoint.deprecated.removed_in: is "3;x", expected a version',
    ],
    ["a version with a line break", '"3.0.0"', '"3\\r\\nX: y"', "endpoint.deprecated.removed_in:"],
    ["an unknown successor", '"RESERVE"', '"RESERVED"', "endpoint.deprecated.successor.method:"],
    ["a successor at no path", '"/lodgings"', '"lodgings"', "endpoint.deprecated.successor.path:"],
    [
      "a successor of nothing",
      /successor = .*/,
      "successor = {}",
      "endpoint.deprecated.successor: is empty, expected method or path",
    ],
    [
      "a schema beside a list",
      /$/,
      '\n[[endpoint.output]]\nname = "a"\ntype = "string"\n',
      "endpoint.output: stands beside output_schema, expected one of the two",
    ],
    [
      "a schema that is no table",
      /\[endpoint.output_schema\][\s\S]*(?=\[endpoint.handler\])/,
      "",
      "endpoint.output_schema: is missing, expected a JSON Schema as a table",
    ],
    [
      "infinity in a schema",
      'format = "uuid"',
      "maximum = inf",
      "endpoint.input_schema: has inf, nan or more than 64 levels",
    ],
  ])("must not have %s", (_, from, to, message) => {
    expect(problemsAfter(BOOK_ROOM, from, to).join("\n")).toContain(message);
  });

  it("accepts a custom method", () => {
    expect(definitionOf(BOOK_ROOM.replace('"BOOK"', '"FROBNICATE"')).method).toBe("FROBNICATE");
  });

  it("reports everything at once", () => {
    const text = BOOK_ROOM.replace('"BOOK"', '"book"')
      .replace("0.85", "2")
      .replace('"booking:', '"');
    expect(parse(text).problems.map(({ key }) => key)).toEqual([
      "endpoint.method",
      "endpoint.semantic.confidence",
      "endpoint.required_scopes",
    ]);
  });
});

// AGTP-API §5.9, §6.1
describe("reserved pairs", () => {
  const at = (method: string, path: string): string =>
    BOOK_ROOM.replace('"BOOK"', `"${method}"`).replace("/room/{property_id}", path);

  it.each([
    ["DISCOVER", "/methods"],
    ["DISCOVER", "/methods/v2"],
    ["DISCOVER", "/agents-extended"],
    ["DISCOVER", "/toolset"],
    ["DISCOVER", "/contracts/history"],
    ["DISCOVER", "/genesis/{property_id}"],
    ["DISCOVER", "/%6Dethods"],
    ["DISCOVER", "/{property_id}"],
    ["DISCOVER", "/"],
    ["REVOKE", "/agents/{property_id}"],
    ["REVOKE", "/agents/lauren"],
  ])("refuses %s %s", (method, path) => {
    expect(parse(at(method, path)).problems.map(({ key }) => key)).toEqual(["endpoint.path"]);
  });

  it.each([
    ["QUERY", "/"],
    ["QUERY", "/methods"],
    ["DISCOVER", "/toolbox"],
    ["DISCOVER", "/rooms/methods"],
    ["REVOKE", "/agents"],
    ["REVOKE", "/agents/lauren/keys"],
    ["QUERY", "/agents/lauren"],
    ["DISCOVER", "/Methods"],
    ["BOOK", "/"],
  ])("accepts %s %s", (method, path) => {
    expect(parse(at(method, path)).problems).toEqual([]);
  });
});

describe("an endpoint file with field lists", () => {
  it("becomes closed input and open output", () => {
    const { inputSchema, outputSchema, errors } = definitionOf(FETCH_ARTICLE);
    expect(inputSchema).toEqual({
      type: "object",
      required: ["article_id"],
      additionalProperties: false,
      properties: {
        article_id: { type: "integer", description: "The article identifier." },
        since: { type: "string", description: "Only later versions.", format: "date" },
      },
    });
    expect(outputSchema).toEqual({
      type: "object",
      required: ["title", "tags"],
      additionalProperties: true,
      properties: {
        title: { type: "string", description: "Article title." },
        tags: { type: "array", description: "Article tags.", items: { type: "string" } },
      },
    });
    expect(errors).toContain("upstream_timeout");
  });

  it("takes a format that nobody knows for a hint, and warns of it", () => {
    const { definition, problems } = parse(FETCH_ARTICLE.replace('"date"', '"phone"'));
    expect(definition?.inputSchema["properties"]).toMatchObject({
      since: { type: "string", description: "Only later versions." },
    });
    expect(JSON.stringify(definition?.inputSchema)).not.toContain("phone");
    expect(problems).toMatchObject([
      { key: "endpoint.input.optional[0].format", severity: "warning" },
    ]);
  });

  it("has the keys of the fields that have a name", () => {
    const { keyInFile, problems } = parse(FETCH_ARTICLE.replace('name = "since"', "name = {}"));
    expect(problems[0]).toMatchObject({ key: "endpoint.input.optional[0].name" });
    const keys = ["article_id", "since"].map((name) => {
      return keyInFile?.(`endpoint.input_schema.properties.${name}.type`);
    });
    expect(keys).toEqual([
      "endpoint.input.required[0].type",
      "endpoint.input_schema.properties.since.type",
    ]);
  });

  it("may leave out lists and errors that are empty", () => {
    const text = BOOK_ROOM.replace(/errors = .*/, "")
      .replace(/\[endpoint.input_schema\][\s\S]*\[endpoint.handler\]/, "[endpoint.handler]")
      .replace("/{property_id}", "");
    expect(
      definitionOf(`${text}\n[[endpoint.output]]\nname = "a"\ntype = "string"\n`),
    ).toMatchObject({
      errors: [],
      inputSchema: { type: "object", additionalProperties: false, properties: {} },
    });
  });

  it("may have no list at all where its errors stand in a block, and says that it takes nothing", () => {
    const bare = (text: string) =>
      text.replace(/\[endpoint.input_schema\][\s\S]*\[endpoint.handler\]/, "[endpoint.handler]");
    const block = bare(BOOK_ROOM).replace(/errors = .*/, "");
    for (const text of [block, `${block}\n[endpoint.errors]\nlist = ["full"]\n`]) {
      const { definition, problems } = parse(text.replace("/{property_id}", ""));
      expect(definition).toMatchObject({
        inputSchema: { type: "object", additionalProperties: false, properties: {} },
        outputSchema: { type: "object", additionalProperties: true },
      });
      expect(problems.map(formatProblem)).toEqual([
        expect.stringContaining(
          "endpoint.input: is missing, and so is the output: the input takes no members (",
        ),
      ]);
      expect(problems.some(isError)).toBe(false);
    }
    const { definition, problems } = parse(block);
    expect(Object.keys(definition?.inputSchema["properties"] ?? {})).toEqual(["property_id"]);
    expect(problems[0]?.message).toContain("no members but those of its path");
    // The draft's own form has a list of errors, and must have both schemas.
    expect(
      parse(bare(BOOK_ROOM))
        .problems.filter(isError)
        .map(({ key }) => key),
    ).toEqual([...["endpoint.input_schema", "endpoint.output_schema"]]);
  });

  it.each<[string, string | RegExp, string, string]>([
    [
      "an unknown type",
      '"integer"',
      '"int"',
      'endpoint.input.required[0].type: is "int", expected one of string, integer',
    ],
    [
      "an unknown key",
      'format = "date"',
      'fromat = "date"',
      "endpoint.input.optional[0].fromat: unknown key (did you mean format?)",
    ],
    [
      "a field twice",
      '"since"\ntype',
      '"article_id"\ntype',
      'endpoint.input.optional[0].name: "article_id" a second time',
    ],
    [
      "a field without a name",
      'name = "title"',
      "",
      "endpoint.output[0].name: is missing, expected a text",
    ],
    [
      "types that disagree",
      'type = "array"\n',
      'type = "object"\n',
      'endpoint.output[1].type: is "object", but the type in "schema" is another one',
    ],
    [
      "a schema that is a text",
      /schema = .*/,
      'schema = "x"',
      "endpoint.output[1].schema: must be a table that is a JSON Schema",
    ],
    [
      "a table for an array of tables",
      "[[endpoint.input.optional]]",
      "[endpoint.input.optional]",
      "endpoint.input.optional: is a table, expected an array of tables, as in [[optional]]",
    ],
    [
      "input schema and input list",
      "[[endpoint.output]]",
      "[endpoint.input_schema]\n[[endpoint.output]]",
      "endpoint.input: stands beside input_schema",
    ],
  ])("must not have %s", (_, from, to, message) => {
    expect(problemsAfter(FETCH_ARTICLE, from, to).join("\n")).toContain(message);
  });
});

// AGTP-API §12.3
describe("an external service", () => {
  it("is read with its variables replaced", () => {
    expect(definitionOf(FETCH_ARTICLE).handler).toEqual({
      type: "external_service",
      url: "https://api.acme.example/v1/articles/{article_id}",
      method: "GET",
      timeoutMs: 1500,
      maxResponseBytes: 1_048_576,
      headers: { Authorization: "Bearer s3cret" },
      query: { since: "from" },
      inputTransform: {},
      outputTransform: { title: "headline" },
      errorMap: { "404": "article_not_found" },
    });
  });

  it("waits thirty seconds unless told otherwise", () => {
    const { handler } = definitionOf(FETCH_ARTICLE.replace("timeout_seconds = 1.5\n", ""));
    expect(handler).toMatchObject({ timeoutMs: 30_000 });
  });

  it.each<[string, string | RegExp, string, string]>([
    ["plain http", "https://", "http://", "endpoint.handler.url: must use https"],
    ["no URL", /url = .*/, 'url = "https:///x"', "endpoint.handler.url: is no URL"],
    [
      "a field in the host",
      "${API_HOST}",
      "{article_id}.example",
      "endpoint.handler.url: has a field in its host",
    ],
    ["credentials", "${API_HOST}", "me:pw@host", "endpoint.handler.url: has credentials in it"],
    [
      "a fragment",
      'articles/{article_id}"\nmethod',
      'articles/{article_id}#x"\nmethod',
      "endpoint.handler.url: has a fragment",
    ],
    [
      "a space",
      "/v1/",
      "/v 1/",
      "endpoint.handler.url: has a character that must be percent-encoded",
    ],
    [
      "a line break",
      "/v1/",
      "/v\\n1/",
      "endpoint.handler.url: has a character that must be percent-encoded",
    ],
    [
      "another template syntax",
      '{article_id}"\nmethod',
      '{?article_id}"\nmethod',
      "endpoint.handler.url: has braces around something that is no field name",
    ],
    [
      "an unknown field in the URL",
      '{article_id}"\nmethod',
      '{id}"\nmethod',
      "endpoint.handler.url: {id} is no field of the input schema",
    ],
    [
      "an unset variable",
      "${API_HOST}",
      "${NOBODY_SET_THIS}",
      "endpoint.handler.url: the environment variable NOBODY_SET_THIS is not set",
    ],
    [
      "an unset variable in a header",
      "${API_TOKEN}",
      "${NOBODY_SET_THIS}",
      "endpoint.handler.headers.Authorization: the environment variable NOBODY_SET_THIS is not set",
    ],
    [
      "an open placeholder",
      "${API_TOKEN}",
      "${API_TOKEN",
      'endpoint.handler.headers.Authorization: has a "${" that is never closed',
    ],
    [
      "an inherited variable",
      "${API_TOKEN}",
      "${constructor}",
      "the environment variable constructor is not set",
    ],
    [
      "an unknown method",
      '"GET"',
      '"FETCH"',
      'endpoint.handler.method: is "FETCH", expected one of GET, POST',
    ],
    [
      "no method",
      'method = "GET"',
      "",
      "endpoint.handler.method: is missing, expected one of GET, POST",
    ],
    ["no time", "1.5", "0", "endpoint.handler.timeout_seconds: is 0, expected a number from 0.001"],
    ["negative time", "1.5", "-1", "endpoint.handler.timeout_seconds: is -1"],
    ["endless time", "1.5", "inf", "endpoint.handler.timeout_seconds: is Infinity"],
    [
      "no response",
      "1.5",
      "1\nmax_response_bytes = 0",
      "endpoint.handler.max_response_bytes: is 0, expected a number from 1",
    ],
    [
      "half a byte",
      "1.5",
      "1\nmax_response_bytes = 1.5",
      "endpoint.handler.max_response_bytes: is 1.5, expected a whole number",
    ],
    [
      "a header name with a space",
      "Authorization =",
      '"Auth orization" =',
      'endpoint.handler.headers."Auth orization": is no header name',
    ],
    [
      "a header that breaks its line",
      "Bearer ",
      "Bearer \\r\\nX-Evil: ",
      "endpoint.handler.headers.Authorization: has a line break",
    ],
    [
      "a header that frames",
      "Authorization =",
      "Content-Length =",
      "endpoint.handler.headers.Content-Length: is a header that the HTTP client sets itself",
    ],
    [
      "a header that asks for compressed responses",
      "Authorization =",
      'accept-encoding = "gzip, identity"\nAuthorization =',
      "endpoint.handler.headers.accept-encoding: asks for compressed responses, which are not read",
    ],
    [
      "a header twice",
      "Authorization =",
      'authorization = "x"\nAuthorization =',
      "endpoint.handler.headers.Authorization: is there twice",
    ],
    [
      "an unknown field in the query",
      'since = "from"',
      'until = "to"',
      "endpoint.handler.query.until: is no field of the input schema",
    ],
    [
      "two fields for one query parameter",
      'since = "from"',
      'since = "x"\narticle_id = "x"',
      'endpoint.handler.query.article_id: takes the upstream name "x", which "since" has already',
    ],
    [
      "two names for one upstream name",
      'title = "headline"',
      'title = "x"\ntags = "x"',
      'endpoint.handler.output_transform.tags: takes the upstream name "x", which "title" has already',
    ],
    [
      "a transform that is no name",
      'title = "headline"',
      "title = 7",
      "endpoint.handler.output_transform.title: is 7, expected a text",
    ],
    [
      "a status that is none",
      '"404"',
      '"4xx"',
      "endpoint.handler.error_map.4xx: is no HTTP status, expected three digits",
    ],
    [
      "an undeclared error",
      '= "article_not_found"',
      '= "gone"',
      'endpoint.handler.error_map.404: is "gone", which errors does not declare',
    ],
    [
      "upstream errors left out",
      '  "upstream_error",\n',
      "",
      "endpoint.errors: must include upstream_error",
    ],
    [
      "a missing CA",
      "timeout_seconds",
      'ca = "no.pem"\ntimeout_seconds',
      'endpoint.handler.ca: "no.pem" does not exist',
    ],
    [
      "the key of another handler",
      "timeout_seconds",
      "timout_seconds",
      "endpoint.handler.timout_seconds: unknown key (did you mean timeout_seconds?)",
    ],
  ])("must not have %s", (_, from, to, message) => {
    expect(problemsAfter(FETCH_ARTICLE, from, to).join("\n")).toContain(message);
  });

  it("must not rename a field to the name of one that keeps its own", () => {
    const text = FETCH_ARTICLE.replace('[endpoint.handler.query]\nsince = "from"', "").replace(
      "[[endpoint.output]]",
      '[[endpoint.input.optional]]\nname = "until"\ntype = "string"\n[[endpoint.output]]',
    );
    const collide = `${text}\n[endpoint.handler.input_transform]\nsince = "until"\n`;
    expect(parse(collide).problems.map(formatProblem).join()).toContain(
      '"since" takes the name of the field "until", which is not renamed',
    );
    const swap = `${text}\n[endpoint.handler.input_transform]\nsince = "until"\nuntil = "since"\n`;
    expect(parse(swap).problems).toEqual([]);
  });

  it("never shows the value of a variable", () => {
    const text = FETCH_ARTICLE.replace("https://", "http://").replace("Bearer ", "Bearer\\u0000");
    expect(parse(text).problems.length).toBe(2);
    expect(JSON.stringify(parse(text).problems)).not.toMatch(/s3cret|acme/);
  });

  it("keeps placeholders outside the handler table literal", () => {
    const text = BOOK_ROOM.replace("Books a room", "Books ${API_TOKEN}");
    expect(definitionOf(text).description).toContain("${API_TOKEN}");
  });
});

describe("a file that is no endpoint", () => {
  it.each([
    ["", "endpoint: is missing, expected a table"],
    ["endpoint = 1", "endpoint: is 1, expected a table"],
    ["endpoint = 1979-05-27", "endpoint: is a date, expected a table"],
    ["[[endpoint]]", "endpoint: is an array, expected a table"],
    ["[endpoint\n", "is not TOML: line 1, column "],
    ["\n\na = 99999999999999999999", "is not TOML: line 3, column "],
    [`a = ${"[".repeat(5000)}`, "is not TOML: line 1, column "],
  ])("%j is a problem", (text, message) => {
    expect(parse(text).problems.map(formatProblem).join("\n")).toContain(message);
  });

  it("is told about two hundred problems at most", () => {
    const keys = Array.from({ length: 5000 }, (_, index) => `k${index} = 1`).join("\n");
    expect(parse(`[endpoint]\n${keys}`).problems.length).toBe(200);
  });

  it("may be nested as deeply as a file can be", () => {
    const text = BOOK_ROOM.replace(
      "[endpoint.output_schema]",
      `[endpoint.output_schema${".a".repeat(20_000)}]`,
    );
    expect(parse(text).problems.length).toBeGreaterThan(0);
    expect(parse(`[${"a.".repeat(100_000)}a]`).problems.length).toBeGreaterThan(0);
  });

  it("has no power over prototypes", () => {
    expect(parse("[endpoint.__proto__]\nmethod = 'BOOK'").problems[0]?.key).toBe(
      "endpoint.__proto__",
    );
    expect(parse("[__proto__.endpoint]\nmethod = 'BOOK'").definition).toBeUndefined();
    const text = BOOK_ROOM.replace("properties.guest_id]", "properties.__proto__]");
    expect(Object.getPrototypeOf(parse(text).definition?.inputSchema["properties"] ?? {})).toBe(
      Object.prototype,
    );
  });
});
