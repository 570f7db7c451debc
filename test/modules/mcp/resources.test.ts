/** What MCP clients read, and what they hear while a call runs. */
import { describe, expect, it } from "vitest";
import { endpointFile } from "../../support/deployment.ts";
import { mcpFiles, openMcp, VERSIONS } from "../../support/mcp.ts";

const RECIPE = `
[[recipe]]
name = "two-looks"
version = "1"
description = "Looks twice."
required_scopes = []
[recipe.pattern]
method_exact = "AUDIT"
path_exact = "/looks"
[[recipe.steps]]
method = "FETCH"
path = "/fields"
[[recipe.steps]]
method = "FETCH"
path = "/fields"
[recipe.aggregation]
mode = "last"
`;

describe.each(VERSIONS)("an MCP client of %s", (version) => {
  it("reads the manifest as a resource, and is told of what there is none", async () => {
    const { connectClient } = await openMcp();
    const client = await connectClient(version);
    const { resources } = await client.listResources();
    expect(resources.map(({ name }) => name)).toEqual(["manifest", "contracts", "recipes"]);
    const [manifest] = resources;
    const { contents } = await client.readResource({ uri: manifest?.uri ?? "" });
    const [content] = contents as readonly { readonly text?: string }[];
    expect(JSON.parse(content?.text ?? "")).toHaveProperty("endpoints");
    await expect(client.readResource({ uri: "agtp://elsewhere/" })).rejects.toThrow(
      "Resource not found",
    );
  });

  it("is answered where there is nothing to complete, and hears no log", async () => {
    const server = await openMcp();
    const client = await server.connectClient(version);
    const ref = { type: "ref/prompt" as const, name: "none" };
    const { completion } = await client.complete({ ref, argument: { name: "a", value: "b" } });
    expect(completion.values).toEqual([]);
    if (version === "2025-11-25") await client.setLoggingLevel("debug");
    expect(client.getServerCapabilities()).not.toHaveProperty("prompts");
  });

  it("hears of every step of a composition", async () => {
    const composed = endpointFile({
      ...{ method: "AUDIT", path: "/looks", errors: ["composition_failed"] },
      handler: { type: "composition", recipe: "two-looks" },
    });
    const server = await openMcp(
      mcpFiles({}, { "recipes/looks.toml": RECIPE, "endpoints/looks.toml": composed }),
    );
    const client = await server.connectClient(version);
    const heard: unknown[] = [];
    const result = await client.callTool(
      { name: "audit_looks", arguments: {} },
      { onprogress: (progress) => heard.push(progress) },
    );
    expect(result.isError).toBeUndefined();
    expect(heard).toEqual([
      { progress: 1, total: 2, message: "FETCH /fields" },
      { progress: 2, total: 2, message: "FETCH /fields" },
    ]);
  });
});
