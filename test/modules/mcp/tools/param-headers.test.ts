/** Header fields of arguments, as clients may be told them.   MCP "Streamable HTTP" (Custom Headers) */
import { describe, expect, it } from "vitest";
import { withToldHeaders } from "../../../../src/modules/mcp/tools/param-headers.ts";
import { endpointFile } from "../../../support/deployment.ts";
import { mcpFiles, openMcp } from "../../../support/mcp.ts";

const ROOM = { type: "string", "x-mcp-header": "Room" };

describe("withToldHeaders", () => {
  it("leaves a schema as it is whose fields can all be told", () => {
    const stay = {
      type: "object",
      properties: { night: { type: "integer", "x-mcp-header": "N" } },
    };
    const data = {
      default: ROOM,
      enum: [ROOM],
      properties: { "x-mcp-header": { type: "number" } },
    };
    const schema = { type: "object", properties: { room: ROOM, stay, data } };
    expect(withToldHeaders(schema)).toBe(schema);
  });

  it.each([
    ["of a number", { type: "number", "x-mcp-header": "N" }],
    ["of several types", { type: ["string", "null"], "x-mcp-header": "N" }],
    ["of an object", { type: "object", "x-mcp-header": "N" }],
    ["that is no name of a field", { type: "string", "x-mcp-header": "a b" }],
    ["without a name", { type: "string", "x-mcp-header": "" }],
    ["that is no text", { type: "string", "x-mcp-header": 7 }],
    ["of another argument", { type: "string", "x-mcp-header": "room" }],
    ["of items", { type: "array", items: { type: "string", "x-mcp-header": "N" } }],
    ["in a branch", { type: "string", anyOf: [{ type: "string", "x-mcp-header": "N" }] }],
    ["below a branch", { not: { properties: { a: { type: "string", "x-mcp-header": "N" } } } }],
  ])("takes away one %s, and nothing else", (_, odd) => {
    const schema = { type: "object", properties: { room: ROOM, odd }, required: ["room"] };
    const told = withToldHeaders(schema);
    const text = JSON.stringify(odd).replace(/,?"x-mcp-header":(?:"[^"]*"|7)/, "");
    const properties = { room: ROOM, odd: JSON.parse(text) };
    expect(told).toEqual({ ...schema, properties });
  });

  it("takes away one of the whole input, and one in a definition", () => {
    const schema = { type: "object", "x-mcp-header": "N", $defs: { room: ROOM } };
    expect(withToldHeaders(schema)).toEqual({
      type: "object",
      $defs: { room: { type: "string" } },
    });
  });
});

describe("a tool with a header field that cannot be told", () => {
  it("is listed by the library's client, which leaves out tools with one", async () => {
    const properties = { room: ROOM, price: { type: "number", "x-mcp-header": "Price" } };
    const endpoint = endpointFile({
      ...{ method: "FETCH", path: "/prices", properties },
      handler: { type: "registered_function", function: "desk.echo" },
    });
    const server = await openMcp(mcpFiles({}, { "endpoints/prices.toml": endpoint }));
    const client = await server.connectClient("2026-07-28");
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === "fetch_prices");
    expect(tool?.inputSchema["properties"]).toMatchObject({
      room: ROOM,
      price: { type: "number" },
    });
  });
});
