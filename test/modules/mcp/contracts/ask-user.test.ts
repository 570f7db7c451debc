/** Users of clients of 2025-11-25 that are asked while a call waits.   MCP 2025-11-25 "Elicitation" */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connectMcp } from "../../../support/mcp.ts";
import { type NegotiatingMcp, openNegotiating } from "../../../support/mcp-contracts.ts";
import { NORA } from "../../../support/negotiation.ts";

const AUDIT = { name: "audit_reviews", arguments: { subject: "barn" } };

/** A client whose user does as told, once asked. */
async function connectAsking(server: NegotiatingMcp, answer: () => Promise<object> | object) {
  return connectMcp(server.url, "2025-11-25", {
    token: await server.tokenOf(NORA),
    options: { capabilities: { elicitation: {} } },
    prepare: (client) => {
      client.setRequestHandler("elicitation/create", () => answer() as Promise<never>);
    },
  });
}

describe("a user who is asked", () => {
  it("has accepted nothing where the client fails to ask", async () => {
    const server = await openNegotiating();
    const client = await connectAsking(server, () => {
      throw new Error("the window was closed");
    });
    const result = await client.callTool(AUDIT);
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain("syn-");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("audit_reviews");
  });

  it("answers under the policy that holds by then", async () => {
    const server = await openNegotiating();
    const client = await connectAsking(server, async () => {
      const file = join(server.directory, "agtp-server.toml");
      const text = readFileSync(file, "utf8");
      writeFileSync(file, `${text}\n[policies.methods]\ndisallow = ["AUDIT"]\n`);
      await server.daemon.reload();
      return { action: "accept", content: {} };
    });
    const result = await client.callTool(AUDIT);
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toBeUndefined();
  });

  it("does not hold up the end of the daemon", async () => {
    const server = await openNegotiating();
    let asked: () => void = () => undefined;
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const client = await connectAsking(server, () => {
      asked();
      return new Promise<object>(() => undefined);
    });
    const calling = client.callTool(AUDIT);
    await isAsked;
    await server.daemon.drain();
    expect((await calling).isError).toBe(true);
  });
});
