/** Lists of more than a page, and tools that are others between list and call.   MCP "Pagination" */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { endpointFile } from "../../support/deployment.ts";
import { mcpFiles, openMcp, VERSIONS } from "../../support/mcp.ts";

const COUNT = 1_100;

function manyFiles(): Readonly<Record<string, string>> {
  const handler = { type: "registered_function", function: "desk.echo" };
  const names = Array.from({ length: COUNT }, (_, index) => `many-${index}`);
  return Object.fromEntries(
    names.map((name) => [
      `endpoints/${name}.toml`,
      endpointFile({ method: "FETCH", path: `/${name}`, handler }),
    ]),
  );
}

interface Pages {
  readonly names: readonly string[];
  readonly sizes: readonly number[];
  readonly cursors: readonly string[];
}

async function readPages(client: Client): Promise<Pages> {
  const names: string[] = [];
  const sizes: number[] = [];
  const cursors: string[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; ) {
    isFirst = false;
    const page = await client.request({
      method: "tools/list",
      params: cursor === undefined ? {} : { cursor },
    });
    names.push(...page.tools.map(({ name }) => name));
    sizes.push(page.tools.length);
    cursor = page.nextCursor;
    if (cursor !== undefined) cursors.push(cursor);
  }
  return { names, sizes, cursors };
}

describe("a list of many tools", () => {
  it("is the same in pages for both protocols, each tool once and in order", async () => {
    const server = await openMcp(mcpFiles({}, manyFiles()));
    const lists = [];
    for (const version of VERSIONS) {
      const client = await server.connectClient(version);
      lists.push(await readPages(client), await readPages(client));
    }
    const [first] = lists;
    expect(first?.sizes.slice(0, -1)).toEqual([500, 500]);
    expect(new Set(first?.names).size).toBe(first?.names.length);
    expect(first?.names).toEqual(first?.names.toSorted((a, b) => (a < b ? -1 : 1)));
    for (const list of lists) expect(list).toEqual(first);

    const client = await server.connectClient("2025-11-25");
    // The tool that a cursor names may be gone by then.
    const last = first?.names[499] ?? "";
    rmSync(
      join(server.directory, `endpoints/${last.replace("fetch_", "").replace("_", "-")}.toml`),
    );
    await server.daemon.reload();
    const [cursor] = first?.cursors ?? [];
    const { tools } = await client.request({
      method: "tools/list",
      params: { cursor: cursor ?? "" },
    });
    expect(tools.map(({ name }) => name)).toEqual(first?.names.slice(500, 1_000));
  });
});

describe.each(VERSIONS)("a tool that is another one between list and call, to %s", (version) => {
  const change = {
    ...{ method: "AUDIT", path: "/changing" },
    handler: { type: "registered_function", function: "desk.echo" },
  };

  it("is judged by what it is now; one that is gone is none", async () => {
    const file = "endpoints/changing.toml";
    const server = await openMcp(
      mcpFiles({}, { [file]: endpointFile({ ...change, properties: { a: { type: "string" } } }) }),
    );
    const client = await server.connectClient(version);
    await client.listTools();
    const call = { name: "audit_changing", arguments: { a: "x" } };
    expect((await client.callTool(call)).isError).toBeUndefined();

    const properties = { b: { type: "string" } };
    writeFileSync(join(server.directory, file), endpointFile({ ...change, properties }));
    await server.daemon.reload();
    const refused = await client.callTool(call);
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).toContain("schema-validation-failed");
    expect(refused._meta).toHaveProperty(["io.agtp/audit-id"]);

    rmSync(join(server.directory, file));
    await server.daemon.reload();
    await expect(client.callTool(call)).rejects.toMatchObject({
      ...{ code: -32_602, data: { code: "action-not-found" } },
    });
  });
});
