/** The keys of a handler table that say how values are written upstream. */
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/base/problem.ts";
import { parseEndpointFile } from "../../src/endpoint/endpoint-file.ts";
import { smallVocabulary } from "../support/vocabulary.ts";

const FILE = `
[endpoint]
method = "BOOK"
path = "/things/{id}"
description = "Does something."
errors = [
  "upstream_timeout", "upstream_connection_error", "upstream_malformed_response",
  "upstream_authentication_failed", "upstream_error",
]
[endpoint.semantic]
intent = "Do it."
actor = "agent"
outcome = "It is done."
capability = "transaction"
confidence = 1
impact = "reversible"
is_idempotent = false
[endpoint.input_schema]
type = "object"
additionalProperties = false
properties = { id = { type = "string" }, body = { type = "array" }, key = { type = "string" } }
[endpoint.output_schema]
type = "object"
[endpoint.handler]
type = "external_service"
url = "https://api.example/things/{id}"
`;

function read(handler: string): {
  readonly encoding: unknown;
  readonly problems: readonly string[];
} {
  const context = { ...smallVocabulary(), directory: "/", env: {} };
  const { definition, problems } = parseEndpointFile(FILE + handler, "x.toml", context);
  const binding = definition?.handler;
  return {
    encoding: binding?.type === "external_service" ? binding.encoding : undefined,
    problems: problems.map(formatProblem),
  };
}

// AGTP-API §12.3
describe("the encoding of an external service", () => {
  it("is absent where nothing is written", () => {
    expect(read('method = "POST"')).toEqual({ encoding: undefined, problems: [] });
  });

  it("has every key", () => {
    const { encoding, problems } = read(`
      method = "POST"
      body_format = "form"
      body_field = "body"
      response_format = "text"
      header_fields = { key = "Idempotency-Key" }
      styles = { body = "comma" }
    `);
    expect(problems).toEqual([]);
    expect(encoding).toEqual({
      bodyFormat: "form",
      bodyField: "body",
      responseFormat: "text",
      headerFields: { key: "Idempotency-Key" },
      styles: { body: "comma" },
    });
  });

  it.each([
    ['method = "GET"\nbody_format = "json"', "body_format: is there, but GET has no body"],
    ['method = "GET"\nbody_field = "body"', "body_field: is there, but GET has no body"],
    ['method = "POST"\nbody_format = "xml"', 'body_format: is "xml", expected one of json'],
    ['method = "POST"\nbody_format = "binary"', "body_field: is missing"],
    ['method = "PUT"\nbody_format = "none"\nbody_field = "body"', "body_field: is there, but"],
    ['method = "POST"\nbody_field = "other"', 'body_field: "other" is no field'],
    ['method = "POST"\nbody_field = "id"', 'body_field: "id" is in the URL'],
    ['method = "POST"\nheader_fields = { key = "Host" }', "header_fields.key: is a header that"],
    ['method = "POST"\nheader_fields = { id = "X-Id" }', "header_fields.id: is in the URL"],
    ['method = "POST"\nheader_fields = { nobody = "X-Id" }', "header_fields.nobody: is no field"],
    [
      'method = "POST"\nheaders = { "X-Id" = "1" }\nheader_fields = { key = "x-id" }',
      'header_fields.key: "x-id" has a fixed value',
    ],
    [
      'method = "POST"\nheader_fields = { key = "X-A", body = "x-a" }',
      'header_fields.body: takes the upstream name "x-a"',
    ],
    ['method = "POST"\nstyles = { body = "csv" }', 'styles.body: is "csv", expected one of'],
    ['method = "POST"\nstyles = { nobody = "deep" }', "styles.nobody: is no field"],
    ['method = "POST"\nresponse_format = 1', "response_format: is 1, expected one of json"],
  ])("is refused in %j", (handler, message) => {
    const [problem = ""] = read(handler).problems;
    expect(problem).toContain(`endpoint.handler.${message}`);
  });
});
