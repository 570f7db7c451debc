/** Content that a tool gives part by part, and arguments in header fields.   MCP "Tools", "Custom Headers" */
import { describe, expect, it } from "vitest";
import { isContentSchema, partsIn } from "../../../../src/modules/mcp/tools/content.ts";
import { openDaemon } from "../../../support/daemon.ts";
import { endpointFile } from "../../../support/deployment.ts";
import { openDesktop } from "../../../support/desktop.ts";
import { DESK, gatewayFiles } from "../../../support/gateway.ts";
import { mcpFiles, openMcp, VERSIONS } from "../../../support/mcp.ts";
import { current, currentFields, messageOf, post } from "../../../support/mcp-session.ts";

const PARTS = {
  ...{ type: "object", required: ["content"] },
  properties: { content: { type: "array", items: { type: "object" } } },
};
const CONTENT = [
  { type: "text", text: "a picture:" },
  { type: "image", data: "AAAA", mimeType: "image/png" },
  { type: "resource", resource: { uri: "test://a", mimeType: "text/plain", text: "b" } },
];

function contentFiles(content: unknown): Readonly<Record<string, string>> {
  return {
    "content.mjs": `export const give = () => ({ body: { content: ${JSON.stringify(content)} } });`,
    "endpoints/content.toml": endpointFile({
      ...{ method: "FETCH", path: "/content", output_schema: PARTS },
      handler: { type: "registered_function", function: "content.give" },
    }),
  };
}

describe.each(VERSIONS)("a tool that gives content, to a client of %s", (version) => {
  it("gives it part by part, and says nothing of its form", async () => {
    const server = await openMcp(mcpFiles({}, contentFiles(CONTENT)));
    const client = await server.connectClient(version);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "fetch_content")?.outputSchema).toBeUndefined();
    const result = await client.callTool({ name: "fetch_content", arguments: {} });
    expect(result.content).toEqual(CONTENT);
    expect(result.structuredContent).toBeUndefined();
  });

  it("gives it as it stands where a part is none", async () => {
    const server = await openMcp(mcpFiles({}, contentFiles([{ type: "image", data: 7 }])));
    const client = await server.connectClient(version);
    const { content, isError } = await client.callTool({ name: "fetch_content", arguments: {} });
    expect(isError).toBeUndefined();
    expect(content).toEqual([{ type: "text", text: expect.stringContaining('"data":7') }]);
  });
});

/** Tools that are described, and whose answers are no JSON. */
function bareFiles(): Readonly<Record<string, string>> {
  const tool = (name: string, type: string): string =>
    endpointFile({
      ...{ method: "FETCH", path: `/${name}`, output_schema: { type } },
      handler: { type: "registered_function", function: `bare.${name}` },
    });
  return {
    "bare.mjs": `export const nothing = () => ({ status: 204 });
      export const lines = () => ({ body: "a,b\\n", headers: { "Content-Type": "text/csv" } });`,
    "endpoints/nothing.toml": tool("nothing", "object"),
    "endpoints/lines.toml": tool("lines", "string"),
  };
}

// A client refuses what is no error and has no value, once it was told a schema. MCP "Output Schema"
describe.each(VERSIONS)("a tool that answers without JSON, to a client of %s", (version) => {
  const faces = {
    "the daemon": async () => (await openMcp(mcpFiles({}, bareFiles()))).connectClient(version),
    "agtp-mcp": async () => {
      const { daemon } = await openDaemon(gatewayFiles({}, bareFiles()));
      const args = [`agtp://localhost:${daemon.port}`, "--insecure", "--agent-id", DESK];
      return (await openDesktop(version, args)).client;
    },
  };

  it.each(Object.entries(faces))("gives the value that it promises, before %s", async (_, open) => {
    const client = await open();
    const { tools } = await client.listTools();
    const schema = tools.find(({ name }) => name === "fetch_nothing")?.outputSchema;
    expect(schema).toMatchObject({ type: "object" });
    const nothing = await client.callTool({ name: "fetch_nothing", arguments: {} });
    expect(nothing).toMatchObject({ content: [], structuredContent: {} });
    const { content, structuredContent } = await client.callTool({
      ...{ name: "fetch_lines", arguments: {} },
    });
    expect(content).toEqual([{ type: "text", text: expect.stringContaining("a,b") }]);
    const value = version === "2026-07-28" ? expect.stringContaining("a,b") : undefined;
    expect(structuredContent).toEqual(value);
  });
});

describe("partsIn", () => {
  it("takes of each part what it has to have, and nothing else", () => {
    const part = { type: "text", text: "a", _meta: { b: 1 }, annotations: { priority: 7 } };
    expect(partsIn({ content: [part] })).toEqual([{ type: "text", text: "a" }]);
    const link = { type: "resource_link", uri: "a:b", name: "c", size: "no number" };
    expect(partsIn({ content: [link] })).toEqual([
      { type: "resource_link", uri: "a:b", name: "c" },
    ]);
  });

  it.each([
    [null],
    [{}],
    [{ content: "a" }],
    [{ content: [null] }],
    [{ content: [{ type: "text", text: 7 }] }],
    [{ content: [{ type: "image", data: "no base64", mimeType: "image/png" }] }],
    [{ content: [{ type: "resource", resource: { uri: "a:b" } }] }],
    [{ content: [{ type: "tool_use", name: "a" }] }],
  ])("finds none in %j", (body) => {
    expect(partsIn(body)).toBeUndefined();
  });
});

describe("isContentSchema", () => {
  it("tells content from what has a member of that name", () => {
    expect(isContentSchema(PARTS)).toBe(true);
    const kinds = (...anyOf: readonly object[]) => ({
      ...PARTS,
      properties: { content: { type: "array", items: { anyOf } } },
    });
    expect(isContentSchema(kinds({ type: "object" }, { type: "object" }))).toBe(true);
    expect(isContentSchema(kinds({ type: "object" }, { type: "string" }))).toBe(false);
    const others = { ...PARTS.properties, total: { type: "integer" } };
    expect(isContentSchema({ ...PARTS, properties: others })).toBe(false);
    expect(isContentSchema({ ...PARTS, required: [] })).toBe(false);
    const texts = { content: { type: "array", items: { type: "string" } } };
    expect(isContentSchema({ ...PARTS, properties: texts })).toBe(false);
    expect(isContentSchema({ ...PARTS, properties: { content: { type: "string" } } })).toBe(false);
  });
});

describe("an argument that has a header field", () => {
  const tool = "fetch_region";

  async function call(args: object, headers: Readonly<Record<string, string>>) {
    const properties = {
      region: { type: "string", "x-mcp-header": "Region" },
      level: { type: "integer", "x-mcp-header": "Level" },
    };
    const files = {
      "endpoints/region.toml": endpointFile({
        ...{ method: "FETCH", path: "/region", properties },
        handler: { type: "registered_function", function: "desk.echo" },
      }),
    };
    const server = await openMcp(mcpFiles({}, files));
    const params = current("tools/call", { name: tool, arguments: args });
    const fields = { ...currentFields("tools/call", tool), ...headers };
    const response = await post(server, params, fields);
    const { error } = await messageOf(response);
    return { status: response.status, code: error?.code };
  }

  it.each([
    ["the same", { region: "north" }, { "mcp-param-region": "north" }],
    ["neither", {}, {}],
    ["the field alone", {}, { "mcp-param-region": "north" }],
    ["the same in base64", { region: "nörd" }, { "mcp-param-region": "=?base64?bsO2cmQ=?=" }],
    ["the same number", { level: 42 }, { "mcp-param-level": "42.0" }],
  ])("is taken where both say %s", async (_, args, headers) => {
    expect(await call(args, headers)).toEqual({ status: 200, code: undefined });
  });

  it.each([
    ["another value", { region: "north" }, { "mcp-param-region": "south" }],
    ["nothing in the field", { region: "north" }, {}],
    ["what is no base64", { region: "north" }, { "mcp-param-region": "=?base64?%%?=" }],
    ["another number", { level: 42 }, { "mcp-param-level": "43" }],
  ])("is -32020 where they say %s", async (_, args, headers) => {
    expect(await call(args, headers)).toEqual({ status: 400, code: -32_020 });
  });
});
