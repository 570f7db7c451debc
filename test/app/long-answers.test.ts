/** The long answer of an upstream is encoded a part at a time, over AGTP and over MCP. */
import { describe, expect, it, onTestFinished } from "vitest";
import { UPSTREAM_ERRORS } from "../../src/endpoint/endpoint.ts";
import { askOnce } from "../support/daemon.ts";
import { endpointFile } from "../support/deployment.ts";
import { startUpstream } from "../support/https-upstream.ts";
import { mcpFiles, openMcp, postMcp, type TestMcp } from "../support/mcp.ts";

const LONG = { list: Array.from({ length: 40_000 }, (_, at) => `item ${at} of many`) };
const JSON_OF_LONG = JSON.stringify(LONG);

async function openFront(): Promise<TestMcp> {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  upstream.respond((response) => response.end(JSON_OF_LONG));
  const endpoint = endpointFile({
    ...{ method: "QUERY", path: "/lists", errors: [...UPSTREAM_ERRORS] },
    handler: {
      ...{ type: "external_service", url: `${upstream.origin}/lists`, method: "GET" },
      ca: "upstream.pem",
    },
  });
  const policies = {
    ...{ scope_required_for_invocation: false, identity: { unknown_agents: "accept" } },
  };
  const files = { "upstream.pem": upstream.ca, "endpoints/lists.toml": endpoint };
  return openMcp(mcpFiles({ policies }, files));
}

/** The longest JSON that was written at once while something was done. */
async function longestWritten(work: () => Promise<unknown>): Promise<number> {
  const { stringify } = JSON;
  let longest = 0;
  JSON.stringify = ((...given: Parameters<typeof stringify>) => {
    const text = stringify(...given);
    longest = Math.max(longest, text?.length ?? 0);
    return text;
  }) as typeof stringify;
  try {
    await work();
  } finally {
    JSON.stringify = stringify;
  }
  return longest;
}

describe("a long answer of an upstream", () => {
  it("is never encoded at once", async () => {
    const server = await openFront();
    let text = "";
    const request = { method: "QUERY", path: "/lists", headers: { "Agent-ID": "a".repeat(64) } };
    const overAgtp = await longestWritten(async () => {
      ({ text } = await askOnce(server, request));
    });
    expect(text).toBe(JSON_OF_LONG);
    expect(overAgtp).toBeLessThan(100_000);

    let result: unknown;
    const overMcp = await longestWritten(async () => {
      const response = await postMcp(server, "tools/call", { name: "query_lists", arguments: {} });
      ({ result } = (await response.json()) as { result: unknown });
    });
    expect(result).toMatchObject({ structuredContent: LONG });
    expect(overMcp).toBeLessThan(100_000);
  });
});
