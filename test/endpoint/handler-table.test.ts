import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/base/problem.ts";
import { type EndpointFile, parseEndpointFile } from "../../src/endpoint/endpoint-file.ts";
import { BOOK_ROOM, FETCH_ARTICLE } from "../support/endpoint-toml.ts";
import { smallVocabulary } from "../support/vocabulary.ts";

function parse(text: string): EndpointFile {
  const env = { API_HOST: "api.acme.example", API_TOKEN: "s3cret" };
  return parseEndpointFile(text, "x.toml", { ...smallVocabulary(), directory: "/nowhere", env });
}

function linesOf({ problems }: EndpointFile): readonly string[] {
  return problems.map(formatProblem);
}

// AGTP-API §12
describe("an endpoint file with the older names of handler keys", () => {
  it("means the function by reference, and is warned of", () => {
    const newer = parse(BOOK_ROOM);
    const older = parse(BOOK_ROOM.replace("function = ", "reference = "));
    expect(older.definition).toEqual(newer.definition);
    expect(older.problems).toMatchObject([{ severity: "warning" }]);
    expect(linesOf(older)).toEqual([
      "x.toml: endpoint.handler.reference: is the older name of function (write function instead)",
    ]);
  });

  it("means url and transforms by reference and output_map", () => {
    const transforms = /\[endpoint\.handler\.output_transform\]/;
    const text = FETCH_ARTICLE.replace(/^url = /m, "reference = ").replace(
      transforms,
      "[endpoint.handler.output_map]",
    );
    expect(text).toMatch(/reference = .*output_map/s);
    const older = parse(text);
    expect(older.definition?.handler).toEqual(parse(FETCH_ARTICLE).definition?.handler);
    expect(older.problems.map(({ severity }) => severity)).toEqual(["warning", "warning"]);
  });

  it("says which of two names stands beside the other", () => {
    const both = parse(BOOK_ROOM.replace("function = ", 'reference = "a.b"\nfunction = '));
    expect(both.definition).toBeUndefined();
    expect(linesOf(both)).toEqual([
      "x.toml: endpoint.handler.reference: stands beside function, of which it is the older name",
    ]);
  });

  it("has no older names where the type has none", () => {
    const text = BOOK_ROOM.replace("function = ", "input_map = { a = 1 }\nfunction = ");
    expect(linesOf(parse(text))).toEqual([
      "x.toml: endpoint.handler.input_map: unknown key (known keys: type, function)",
    ]);
  });
});

describe("the handler table of an upstream", () => {
  it("is warned of a transform of a field that is none", () => {
    const transform = '[endpoint.handler.input_transform]\nsinze = "from"\n';
    const parsed = parse(`${FETCH_ARTICLE}\n${transform}`);
    expect(parsed.definition).toBeDefined();
    expect(parsed.problems).toMatchObject([{ severity: "warning" }]);
    expect(linesOf(parsed)).toEqual([
      "x.toml: endpoint.handler.input_transform.sinze: is no field of the input schema (did you mean since?)",
    ]);
  });

  const PIN = `sha256:${"0".repeat(64)}`;
  const tool = (values: string, { pin = PIN, more = "" } = {}): EndpointFile => {
    const errors = [
      ...["upstream_timeout", "upstream_connection_error", "upstream_malformed_response"],
      ...["upstream_authentication_failed", "upstream_error", "upstream_definition_changed"],
    ];
    const handler = `[endpoint.handler]
type = "mcp_tool"
server = "desk"
tool = "book"
definition = "${pin}"
arguments = { ${values} }
${more}
`;
    return parse(
      BOOK_ROOM.replace(/errors = .*/, `errors = ${JSON.stringify(errors)}`).replace(
        /\[endpoint\.handler\][^[]*/,
        handler,
      ),
    );
  };

  it("has the JSON of its arguments, dates as their text", () => {
    const { definition, problems } = tool(
      "since = 2024-01-31, nested = { at = [07:30:00] }, n = 1",
    );
    expect(problems).toEqual([]);
    expect(definition?.handler).toMatchObject({
      arguments: { since: "2024-01-31", nested: { at: ["07:30:00.000"] }, n: 1 },
    });
  });

  it("refuses arguments that JSON has not", () => {
    expect(linesOf(tool('least = nan, who = { name = "{guest_id}" }'))).toEqual([
      "x.toml: endpoint.handler.arguments.least: is inf, nan or nested too deeply, expected a JSON value",
    ]);
  });

  it("refuses arguments of fields that the input has not", () => {
    expect(linesOf(tool('who = ["{guest_id}", { name = "Mr. {guest}" }]'))).toEqual([
      "x.toml: endpoint.handler.arguments.who: {guest} is no field of the input schema",
    ]);
  });

  it.each(["sha256:12", `SHA256:${"0".repeat(64)}`, `sha256:${"F".repeat(64)}`])(
    "refuses %s as the pin of a tool",
    (pin) => {
      expect(linesOf(tool("n = 1", { pin }))).toEqual([
        "x.toml: endpoint.handler.definition: is no pin, expected sha256: and 64 hexadecimal digits" +
          " (agtp-mcp import names the pin of a tool, agtp-mcp pins lists all of them)",
      ]);
    },
  );

  it("names the error that a tool's failure is, of those that are declared", () => {
    const failing = tool("n = 1", { more: 'error_map = { tool_error = "upstream_error" }' });
    expect(failing.definition?.handler).toMatchObject({
      errorMap: { tool_error: "upstream_error" },
    });
    expect(linesOf(tool("n = 1", { more: 'error_map = { tool_error = "sold_out" }' }))).toEqual([
      'x.toml: endpoint.handler.error_map.tool_error: is "sold_out", which errors does not declare',
    ]);
  });
});
