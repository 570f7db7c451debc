/** What MCP clients of either protocol see of a daemon. */
import { describe, expect, it } from "vitest";
import { DESK } from "../../support/gateway.ts";
import { openMcp, postMcp, VERSIONS } from "../../support/mcp.ts";
import { recordIn } from "../../support/records.ts";
import { heard, serverFiles } from "../../support/server-deployment.ts";

describe.each(VERSIONS)("an MCP client of %s", (version) => {
  it("is shown what it may call, in the order of names", async () => {
    const { connectClient } = await openMcp();
    const client = await connectClient(version);
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual([
      ...["audit_orders", "cancel_orders", "create_failures", "create_orders", "fetch_fields"],
      ...["fetch_orders", "fetch_pages", "replace_orders", "search_orders"],
    ]);
    expect(tools.find(({ name }) => name === "cancel_orders")).toMatchObject({
      inputSchema: { type: "object", properties: { order_id: { type: "string" } } },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    });
  });

  it("calls an endpoint through every gate, and leaves its record", async () => {
    const { connectClient } = await openMcp();
    const client = await connectClient(version);
    const result = await client.callTool({
      ...{ name: "cancel_orders", arguments: { order_id: "a/b", quantity: 2 } },
      _meta: { "io.agtp/record": true },
    });
    expect(result.structuredContent).toMatchObject({
      ...{ method: "CANCEL", path: "/orders/a%2Fb", agent_id: DESK },
      input: { order_id: "a/b", quantity: 2 },
    });
    expect(recordIn(result._meta)).toMatchObject({
      ...{ method: "CANCEL", path: "/orders/a%2Fb", status: 200, agent_id: DESK },
      requested_via: "mcp",
    });
  });

  it("is told of arguments that the endpoint does not take, and the refusal is recorded", async () => {
    const { connectClient } = await openMcp();
    const client = await connectClient(version);
    const result = await client.callTool({
      ...{ name: "cancel_orders", arguments: { order_id: "7", quantity: "two" } },
      _meta: { "io.agtp/record": true },
    });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain("schema-validation-failed");
    expect(recordIn(result._meta)).toMatchObject({ method: "CANCEL", status: 422 });
  });

  it("is told that a tool is none, and the attempt is recorded", async () => {
    const { connectClient } = await openMcp();
    const client = await connectClient(version);
    await expect(
      client.callTool({ name: "cancel_everything", arguments: {} }),
    ).rejects.toMatchObject({
      code: -32_602,
      data: { code: "action-not-found", "io.agtp/audit-id": expect.any(String) },
    });
  });

  it("is told of a fault by its id alone", async () => {
    const { connectClient } = await openMcp();
    const client = await connectClient(version);
    await expect(client.callTool({ name: "create_failures", arguments: {} })).rejects.toMatchObject(
      {
        ...{ code: -32_603, message: expect.not.stringContaining("secret") },
        data: { error_id: expect.any(String) },
      },
    );
  });
});

describe("an answer of 2026-07-28 that nothing precedes", () => {
  it("leaves in one piece, which says how long it is", async () => {
    const server = await openMcp();
    const params = { name: "cancel_orders", arguments: { order_id: "7" } };
    const response = await postMcp(server, "tools/call", params);
    const text = await response.text();
    expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
    expect(JSON.parse(text)).toMatchObject({ id: 1, result: { resultType: "complete" } });
  });
});

describe("a client of 2026-07-28 that leaves", () => {
  it("ends its call", async () => {
    const server = await openMcp(
      serverFiles({ gateway: { enabled: true, port: 0 }, mcp: { enabled: true, anonymous: true } }),
    );
    const started = heard("started", "7");
    const aborted = heard("aborted", "7");
    const leaving = new AbortController();
    const params = { name: "execute_gates", arguments: { id: "7", obeys: true } };
    const call = postMcp(server, "tools/call", params, { signal: leaving.signal });
    await started;
    leaving.abort();
    await expect(call).rejects.toThrow("aborted");
    expect(await aborted).toBe("the caller cancelled the request");
  });
});
